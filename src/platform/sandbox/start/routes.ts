import { z } from 'zod';
import type { Operation } from '../../contract/operation.js';
import { baseUrl } from '../../http/base-url.js';
import type { Exchange, Handler, PostedForm, Reply, Step } from '../../http/exchange.js';
import { Problem } from '../../http/problem.js';
import { controlTag } from '../../http/reference.js';
import { type Route, type Router, route } from '../../http/route.js';
import { seeOther } from '../../pages/layout.js';
import { isForged, noticePage, outdatedForm, personByEmail } from '../../pages/parts.js';
import { endVisit, signIn, visitOf } from '../../pages/visit.js';
import { digestOf } from '../../state/secrets.js';
import { one } from '../../state/statements.js';
import { isOwnName, refuseBrowsers } from '../control/control-route.js';
import type { ReadyDocument } from '../document.js';
import { controlPath, startPath } from '../requests.js';
import { type LiveState, liveDocument } from './live-parts.js';
import { checkoutCall, openPage, reviewCall } from './open-page.js';
import { clockSteps, type Standing, scriptPath, startPage } from './page.js';
import { startScript } from './script.js';

export interface Start extends LiveState {
  /** The routes that the buttons for checkout and review call. */
  readonly api: Router;
  ready(): ReadyDocument;
  reset(): void;
}

/** The start page with its script and its updates. Every client of the control API may open it. */
export function startRoutes(start: Start): readonly Route[] {
  const page = (exchange: Exchange): Reply => show(exchange, start, null);
  return [
    route(declared('GET', startPath), refuseBrowsers, page),
    route(postedForm, refuseForeignForms, answer(start)),
    route(declared('GET', scriptPath), refuseBrowsers, () =>
      text('text/javascript; charset=utf-8', startScript),
    ),
    route(declared('GET', `${controlPath}/start`), refuseBrowsers, () =>
      text('text/html; charset=utf-8', liveDocument(start)),
    ),
  ];
}

const declared = (method: 'GET' | 'POST', path: string) =>
  ({
    id: `${method} ${path}`,
    method,
    path,
    tag: controlTag,
    summary: 'Start page of the sandbox',
    scopes: null,
    responses: {},
    errors: [],
  }) as const satisfies Operation;

const postedForm = {
  ...declared('POST', startPath),
  body: z.record(z.string(), z.string()),
  bodyType: 'form',
} as const satisfies PostedForm;

/** Another page of the same machine must neither read nor run these responses. */
const alone = { 'cross-origin-resource-policy': 'same-origin' };

const text = (type: string, body: string): Reply => ({
  status: 200,
  body,
  headers: {
    ...alone,
    'content-type': type,
    'content-security-policy': `default-src 'none'; frame-ancestors 'none'`,
  },
});

/**
 * Rejects forms of other origins. Browsers send the origin `null` with a form of a page without a referrer, so the token
 * in the form must prove that it came from this page. `Sec-Fetch-Site` rejects the others earlier, where it is sent.
 */
const refuseForeignForms: Step<PostedForm> = (exchange) => {
  const { origin, 'sec-fetch-site': site } = exchange.headers;
  const own = origin === undefined || origin === 'null' || isOwnOrigin(exchange, origin);
  if (own && isOwnName(exchange) && (site === undefined || site === 'same-origin')) return;
  throw new Problem(403, 'forbidden', 'The sandbox rejects forms of other web pages.', {
    remediation: 'Open the start page and use its buttons.',
  });
};

const isOwnOrigin = (exchange: Exchange<PostedForm>, origin: string): boolean =>
  URL.parse(origin)?.origin === new URL(baseUrl(exchange)).origin;

function answer(start: Start): Handler<PostedForm> {
  return async (exchange) => {
    const visit = visitOf(exchange);
    const form = exchange.input.body;
    if (isForged(visit, form)) return outdatedForm();
    const back = seeOther(startPath);
    switch (form.action) {
      case 'sign_in': {
        const person = personByEmail(exchange, form.email ?? '');
        if (person !== undefined) return seeOther(startPath, signIn(exchange, person.no));
        return show(exchange, start, 'No account has this email address.', 422);
      }
      case 'sign_out':
        return seeOther(startPath, endVisit(exchange));
      case 'advance': {
        const seconds = form.seconds ?? '';
        if (!Object.hasOwn(clockSteps, seconds))
          return show(exchange, start, 'The clock has no such button.', 400);
        start.clock.advance(Number(seconds) * 1000);
        return back;
      }
      case 'clear_faults':
        start.faults.clear();
        return back;
      case 'reset':
        start.reset();
        return back;
      case 'open_checkout':
        return open(exchange, start, checkoutCall(start.ready()));
      case 'open_review':
        return open(exchange, start, reviewCall(start.ready(), exchange));
      default:
        return noticePage(400, 'Unknown action', 'This form has no such action.');
    }
  };
}

async function open(
  exchange: Exchange<PostedForm>,
  start: Start,
  call: ReturnType<typeof checkoutCall>,
): Promise<Reply> {
  if (call === null) return show(exchange, start, 'This world has no company or no user.', 409);
  const opened = await openPage(exchange, start.api, start.traffic, call);
  return 'page' in opened ? seeOther(opened.page) : show(exchange, start, opened.problem, 409);
}

function show(exchange: Exchange, start: Start, problem: string | null, status = 200): Reply {
  const world = start.ready();
  const reply = startPage({
    base: pasteable(baseUrl(exchange), world.baseUrl),
    world,
    visit: visitOf(exchange),
    live: start,
    standing: (token) => standingOf(exchange, token),
    isFresh: (refreshToken) => isFresh(exchange, refreshToken),
    problem,
    status,
  });
  return { ...reply, headers: { ...reply.headers, ...alone } };
}

/** Returns the address the visitor used, unless a shell would read it differently. */
const pasteable = (used: string, fallback: string): string =>
  /^https?:\/\/[\w.:[\]/-]+$/.test(used) ? used : fallback;

function standingOf({ services, now }: Exchange, token: string): Standing {
  const row = one<{ expires_at: number | null; revoked_at: number | null }>(
    services.state,
    'SELECT expires_at, revoked_at FROM access_tokens WHERE digest = ?',
    [digestOf(token)],
  );
  if (row === undefined) return 'unknown';
  if (row.revoked_at !== null) return 'revoked';
  return row.expires_at !== null && row.expires_at <= now ? 'expired' : 'valid';
}

function isFresh({ services, now }: Exchange, refreshToken: string): boolean {
  const row = one(
    services.state,
    `SELECT 1 FROM refresh_tokens r WHERE digest = ? AND ended_at IS NULL AND expires_at > ?
       AND NOT EXISTS (SELECT 1 FROM refresh_tokens later WHERE later.parent_no = r.no)`,
    [digestOf(refreshToken), now],
  );
  return row !== undefined;
}
