import type { Request, RequestHandler, Response } from 'express';
import type { Authenticator } from './authenticator.js';
import type { Session, Sessions } from './sessions.js';

export interface AdmitParts {
  readonly sessions: Sessions;
  /** Null to admit every request: the listener is then reachable from this machine alone. */
  readonly authenticator: Authenticator | null;
}

/** The client of a request, for every route behind `admit`. */
export interface Visit {
  session: Session | undefined;
  /** The request has a credential in its header, which other sites' pages cannot add, so it needs no CSRF token. */
  readonly program: boolean;
  /** Identifies the current credential; empty when no sign-in is required. */
  readonly mark: string;
  /** Returns whether the client would still be admitted, for responses that last as long as a page is open. */
  readonly lasts: () => Promise<boolean>;
}

const visits = new WeakMap<Response, Visit>();

const notAdmitted: Visit = { session: undefined, program: false, mark: '', lasts: async () => false };

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
      const session = sessionOf(request, sessions, '');
      visits.set(response, { session, program: false, mark: '', lasts: async () => true });
      return next();
    }
    const mark = await authenticator.mark();
    const session = sessionOf(request, sessions, mark);
    if (session?.signedIn === true) {
      const lasts = async () => sessions.lasts(session, await authenticator.mark());
      visits.set(response, { session, program: false, mark, lasts });
      return next();
    }
    const judged = await authenticator.judgeHeader(request.headers.authorization);
    if (judged === 'admitted') {
      // The check may have read a credential that was just rotated.
      const admitted = await authenticator.mark();
      const lasts = async () => admitted === (await authenticator.mark());
      visits.set(response, { session, program: authenticator.kind === 'token', mark: admitted, lasts });
      return next();
    }
    if (judged === 'slow down') return tooMany(response);
    turnAway(authenticator, request, response);
  };
}

function turnAway(authenticator: Authenticator, request: Request, response: Response): void {
  if (authenticator.kind === 'basic') {
    response.status(401).set('www-authenticate', 'Basic realm="rosterd", charset="UTF-8"');
  } else if (request.method === 'GET' && request.accepts(['text', 'html']) === 'html') {
    response.redirect(303, `/sign-in?to=${encodeURIComponent(request.originalUrl)}`);
    return;
  } else {
    response.status(401).set('www-authenticate', 'Bearer realm="rosterd"');
  }
  response.type('text/plain').send('sign in first: see console.auth in the configuration\n');
}

export function tooMany(response: Response): void {
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
  const session = sessions.begin(false, visit.mark);
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
export const sessionOf = (request: Request, sessions: Sessions, mark: string): Session | undefined =>
  sessions.get(cookieOf(request, cookieName(request)), mark);

function cookieOf(request: Request, name: string): string | undefined {
  return (request.headers.cookie ?? '')
    .split(/; */)
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}
