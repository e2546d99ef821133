import { createHash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { Clock } from '../runtime/clock.js';
import { codeOf } from '../runtime/error-codes.js';
import { descriptorsFault } from '../runtime/file-descriptors.js';
import { proxyFailureIn } from '../runtime/proxy.js';
import { tlsProblem } from '../runtime/tls-problem.js';
import type { DueNotice, PostFetch, Send, Sent } from './ports.js';

/**
 * Reads an address or secret. Called for every notice, so a rotated one takes effect. Rejects when it cannot be read.
 */
export type Reveal = () => Promise<string>;

export interface HttpParts {
  readonly fetch: PostFetch;
  readonly clock: Clock;
  /** Default: ten seconds. */
  readonly answerMillisMax?: number;
}

/** Long enough for a receiver that works before it responds, short enough to detect one that hangs. */
const answerMillisMaxDefault = 10_000;
const retryAfterMillisMax = 60 * 60_000;

/** Returns a sender to a Slack-style incoming webhook, whose address is the secret. */
export function sendToSlack(webhookUrl: Reveal, parts: HttpParts): Send {
  return async ({ body }, signal) => {
    const { text } = JSON.parse(body) as { readonly text: string };
    const post = async () => ({
      url: new URL(await webhookUrl()),
      headers: {},
      // Slack treats these three as markup, and `<!channel>` would notify everybody.
      body: JSON.stringify({
        text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
      }),
    });
    return send(post, parts, signal);
  };
}

/**
 * Returns a sender that signs as in Standard Webhooks (https://www.standardwebhooks.com). A `whsec_` secret is
 * base64, others are raw text.
 */
export function sendSigned(url: string, secret: Reveal, parts: HttpParts): Send {
  return async (notice, signal) => {
    const post = async () => {
      const key = await secret();
      const webhook = key.startsWith('whsec_')
        ? new Webhook(key)
        : new Webhook(Buffer.from(key), { format: 'raw' });
      const id = messageId(notice);
      const at = new Date(parts.clock.now());
      return {
        url: new URL(url),
        headers: {
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
          'webhook-signature': webhook.sign(id, at, notice.body),
        },
        body: notice.body,
      };
    };
    return send(post, parts, signal);
  };
}

/**
 * Returns an id that is the same for every attempt, so a receiver can detect repeats, and different after a mirror
 * was rebuilt.
 */
export function messageId({ notice, source, target, queuedAt, body }: DueNotice): string {
  const content = JSON.stringify([notice, source, target, queuedAt, body]);
  return `msg_${createHash('sha256').update(content).digest('hex').slice(0, 32)}`;
}

interface Post {
  readonly url: URL;
  readonly headers: Record<string, string>;
  readonly body: string;
}

async function send(prepare: () => Promise<Post>, parts: HttpParts, signal: AbortSignal): Promise<Sent> {
  let post: Post;
  try {
    post = await prepare();
  } catch {
    // Leaves out the reason and the value: both may contain the secret.
    return { kind: 'failed', why: 'its address or secret cannot be read' };
  }
  const { answerMillisMax = answerMillisMaxDefault } = parts;
  const late = new AbortController();
  const done = new AbortController();
  void parts.clock.wait(answerMillisMax, done.signal).then(() => late.abort());
  try {
    const response = await parts.fetch(post.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'rosterd', ...post.headers },
      body: post.body,
      signal: AbortSignal.any([signal, late.signal]),
      redirect: 'manual',
    });
    // The response body does not matter; closing the stream frees the connection.
    await response.body?.[Symbol.asyncIterator]().return?.();
    return judge(response.status, retryAfterMillis(response.headers, parts.clock.now()));
  } catch (error) {
    if (late.signal.aborted) return { kind: 'failed', why: `no answer within ${answerMillisMax / 1000} s` };
    return { kind: 'failed', why: whyUnreachable(error) };
  } finally {
    done.abort();
  }
}

/** Statuses that mean that the notice itself is wrong, not the way to its receiver. */
const refusals: ReadonlySet<number> = new Set([400, 410, 413, 422]);

/**
 * Returns the wait of a `Retry-After`, at most an hour, or null without a valid one. A date is one of the receiver's clock,
 * so it is compared with the response's own `Date`.
 */
function retryAfterMillis(headers: { get(name: string): string | null }, now: number): number | null {
  const value = headers.get('retry-after')?.trim() ?? '';
  const isSeconds = /^\d+$/.test(value);
  // Date.parse accepts far more than dates of HTTP, such as "-5" and "2.5".
  const at = isSeconds || !/^[A-Z][a-z]+, .+ GMT$/.test(value) ? Number.NaN : Date.parse(value);
  const sentAt = Date.parse(headers.get('date') ?? '');
  const millis = isSeconds ? Number(value) * 1000 : at - (Number.isNaN(sentAt) ? now : sentAt);
  return Number.isNaN(millis) ? null : Math.min(Math.max(millis, 0), retryAfterMillisMax);
}

function judge(status: number, afterMillis: number | null): Sent {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status >= 300 && status < 400)
    return { kind: 'failed', why: `answered ${status}; redirects are not followed` };
  if (refusals.has(status)) return { kind: 'refused', why: `answered ${status}` };
  return {
    kind: 'failed',
    why: `answered ${status}`,
    ...(afterMillis === null ? {} : { afterMillis }),
  };
}

/** Returns a code such as ECONNREFUSED. Messages may quote the address, which may be the secret. */
function whyUnreachable(error: unknown): string {
  const spent = descriptorsFault(error);
  if (spent !== null) return spent.message;
  const proxy = proxyFailureIn(error);
  if (proxy !== null) return `could not be reached: ${proxy.what}; ${proxy.next}`;
  const code = codeOf(error) ?? 'no answer';
  const problem = tlsProblem(code, {
    trust: 'NODE_EXTRA_CA_CERTS in the environment of rosterd',
    address: 'the address of the notice',
  });
  return problem === null
    ? `could not be reached (${code})`
    : `could not be reached: ${problem.what} (${code}); ${problem.next}`;
}
