import type { Request, RequestHandler, Response } from 'express';
import type { Actor } from '../ports/operations.js';
import type { Admitted, Authenticator } from './authenticator.js';
import type { Session, Sessions } from './sessions.js';

export interface AdmitParts {
  readonly sessions: Sessions;
  /** Null to admit every request: the listener is then reachable from this machine alone. */
  readonly authenticator: Authenticator | null;
}

/** The client of a request, for every route behind `admit`. */
export interface Visit {
  session: Session | undefined;
  readonly actor: Actor;
  /** The request has a credential in its header, which other sites' pages cannot add, so it needs no CSRF token. */
  readonly program: boolean;
  /** Identifies the current credential; empty when no sign-in is required. */
  readonly mark: string;
  /** Returns whether the client would still be admitted, for responses that last as long as a page is open. */
  readonly lasts: () => Promise<boolean>;
}

const visits = new WeakMap<Response, Visit>();

/** Every client of a console without sign-in, which is reachable from this machine only. */
const localActor: Actor = { name: 'local', role: 'analyst' };

const notAdmitted: Visit = {
  session: undefined,
  actor: { name: 'not signed in', role: 'viewer' },
  program: false,
  mark: '',
  lasts: async () => false,
};

export function visitOf(response: Response): Visit {
  return visits.get(response) ?? notAdmitted;
}

/** Returns whether the request was admitted, so that its response may show what the dashboard shows. */
export const isAdmitted = (response: Response): boolean => visits.has(response);

/** Browsers share cookies between ports of a host, so the name has the port, for two daemons on one machine. */
const cookieName = (request: Request): string => `rosterd_${request.socket.localPort ?? 0}`;

/** Admits signed-in clients, or all clients when no sign-in is configured. Sends others to the sign-in. */
export function admit({ sessions, authenticator }: AdmitParts): RequestHandler {
  return async (request, response, next) => {
    if (authenticator === null) {
      const session = sessionOf(request, sessions, new Set(['']));
      visits.set(response, { session, actor: localActor, program: false, mark: '', lasts: async () => true });
      return next();
    }
    // The user in the proxy's header counts before a cookie or token, which may belong to another user.
    const user = authenticator.userOf(request);
    if (user.kind === 'refused') {
      if (authenticator.refuse() === 'slow down') return tooMany(response);
      response
        .status(403)
        .type('text/plain')
        .send(`${user.why}: see console.auth.proxy in the configuration\n`);
      return;
    }
    if (user.kind === 'admitted') {
      visits.set(
        response,
        visitBy(user, sessionOf(request, sessions, new Set([user.mark])), async () => true),
      );
      return next();
    }
    const marks = await authenticator.marks();
    const session = sessionOf(request, sessions, marks);
    if (session?.signedIn === true) {
      const { actor, mark } = session;
      const lasts = async () => sessions.lasts(session, await authenticator.marks());
      visits.set(response, { session, actor, program: false, mark, lasts });
      return next();
    }
    const checked = await authenticator.judgeHeader(request.headers.authorization);
    if (checked?.judged.kind === 'admitted') {
      const { judged, byToken } = checked;
      const own = session?.mark === judged.mark ? session : undefined;
      const lasts = async () => (await authenticator.marks()).has(judged.mark);
      visits.set(response, { ...visitBy(judged, own, lasts), program: byToken });
      return next();
    }
    if (checked?.judged.kind === 'slow down') return tooMany(response);
    turnAway(authenticator, request, response);
  };
}

const visitBy = (
  { actor, mark }: Admitted,
  session: Session | undefined,
  lasts: () => Promise<boolean>,
): Visit => ({ session, actor, program: false, mark, lasts });

function turnAway(authenticator: Authenticator, request: Request, response: Response): void {
  if (authenticator.takesPassword) {
    response.status(401).set('www-authenticate', 'Basic realm="rosterd", charset="UTF-8"');
  } else if (!authenticator.takesTokens) {
    response.status(401).type('text/plain').send('sign in through the proxy: see console.auth.proxy\n');
    return;
  } else if (request.method === 'GET' && request.accepts(['text', 'html']) === 'html') {
    response.redirect(303, `/sign-in?to=${encodeURIComponent(request.originalUrl)}`);
    return;
  } else {
    response.status(401).set('www-authenticate', 'Bearer realm="rosterd"');
  }
  response.type('text/plain').send('sign in first: see console.auth in the configuration\n');
}

function tooMany(response: Response): void {
  response
    .status(429)
    .set('retry-after', '60')
    .type('text/plain')
    .send('wrong credential, and too many wrong ones within a minute; the right one is always accepted\n');
}

/** Returns the session of this browser. Without one, begins a session and sets its cookie on the response. */
export function sessionFor(request: Request, response: Response, sessions: Sessions): Session {
  const visit = visitOf(response);
  if (visit.session !== undefined) return visit.session;
  const session = sessions.begin(false, visit.mark, visit.actor);
  visits.set(response, { ...visit, session });
  giveCookie(request, response, session);
  return session;
}

export function giveCookie(request: Request, response: Response, { id }: Session): void {
  // The Origin header of the sign-in form shows whether the browser reaches a proxy over TLS.
  const secure = request.headers.origin?.startsWith('https:') === true;
  response.cookie(cookieName(request), id, { httpOnly: true, sameSite: 'strict', path: '/', secure });
}

export function takeCookie(request: Request, response: Response): void {
  response.clearCookie(cookieName(request), { httpOnly: true, sameSite: 'strict', path: '/' });
}

/** Returns the session of the request's cookie; undefined without one, or when it has ended. */
export const sessionOf = (
  request: Request,
  sessions: Sessions,
  marks: ReadonlySet<string>,
): Session | undefined => sessions.get(cookieOf(request, cookieName(request)), marks);

function cookieOf(request: Request, name: string): string | undefined {
  return (request.headers.cookie ?? '')
    .split(/; */)
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}
