import { paths } from '../../../wire/paths.js';
import { type Answer, problemAnswer } from '../../http/envelope.js';
import type { Exchange } from '../../http/exchange.js';
import { answerTo } from '../../http/pipeline.js';
import { notFound } from '../../http/problem.js';
import type { Router } from '../../http/route.js';
import { isObject } from '../../investments/merge.js';
import { newId } from '../../state/secrets.js';
import type { WorldDocument } from '../document.js';
import type { RecentTraffic } from './traffic.js';

/** A call of the API as an application would make it. */
interface Call {
  readonly path: string;
  readonly token: string;
  readonly body: unknown;
}

/** The call that creates a checkout session for an investor. */
export function checkoutCall({ companies, users }: WorldDocument): Call | null {
  const [company] = companies;
  const investor = users.at(-1);
  if (company === undefined || investor === undefined) return null;
  return {
    path: paths.offeringSessions.replace('{id}', company.offering),
    token: company.token,
    body: { investment_session: { email: investor.email } },
  };
}

/** The call that proposes a question to a company, which its author reviews. */
export function reviewCall({ companies, users }: WorldDocument, exchange: Exchange): Call | null {
  const [company] = companies;
  const investor = users.at(-1);
  if (company === undefined || investor === undefined) return null;
  return {
    path: paths.intents,
    token: investor.token,
    body: {
      action: 'comments.create',
      resource_id: company.id,
      params: { target_type: 'company', target: company.id, body: 'When does the next round open?' },
      idempotency_key: newId(exchange.services.random, 'start_'),
    },
  };
}

/**
 * Makes the call in the process, with all checks and limits of a request, and records it in the log. Returns the path of
 * the page that the response names, or the message of the error.
 */
export async function openPage(
  exchange: Exchange,
  api: Router,
  traffic: RecentTraffic,
  call: Call,
): Promise<{ readonly page: string } | { readonly problem: string }> {
  const match = api.match('POST', call.path);
  const inner: Exchange = {
    ...exchange,
    operation: match?.route?.operation ?? null,
    path: call.path,
    query: new URLSearchParams(),
    headers: { host: exchange.headers.host ?? '', authorization: `Bearer ${call.token}` },
    rawBody: Buffer.from(JSON.stringify(call.body)),
    params: match?.params ?? {},
    input: { query: {}, body: {} },
  };
  const answer: Answer =
    match === null ? problemAnswer(notFound('This path'), exchange.requestId) : await answerTo(match, inner);
  traffic.after(inner, answer);
  const body: unknown = JSON.parse(answer.body);
  const page = textAt(body, 'data', 'attributes', 'url') ?? textAt(body, 'data', 'attributes', 'review_url');
  // Only the path: the page is on this server, under the name the visitor used.
  if (page !== null) return { page: new URL(page).pathname };
  return { problem: textAt(body, 'error', 'message') ?? `The API returned ${answer.status}.` };
}

function textAt(value: unknown, ...keys: readonly string[]): string | null {
  let found: unknown = value;
  for (const key of keys) found = isObject(found) ? found[key] : undefined;
  return typeof found === 'string' ? found : null;
}
