import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from '../../runtime/logger.js';
import type { Door } from './door.js';
import type { Session, Sessions } from './sessions.js';

export interface AdmitParts {
  readonly sessions: Sessions;
  /** Null when everybody who reaches the listener may look: then it is bound to this machine alone. */
  readonly door: Door | null;
  readonly logger: Logger;
}

/** What is known of the asker; on every request behind `admit`. */
export interface Visit {
  session: Session | undefined;
  /** Came with a credential in its header, which a page elsewhere cannot add: no form token is needed. */
  readonly program: boolean;
}

const visits = new WeakMap<Response, Visit>();

export function visitOf(response: Response): Visit {
  return visits.get(response) ?? { session: undefined, program: false };
}

/** Browsers keep cookies per host, not per port: the port in the name keeps two daemons on one machine apart. */
const cookieName = (request: Request): string => `rosterd_${request.socket.localPort ?? 0}`;

/** Lets in who has signed in, or everybody where nobody has to. Others get the way to the sign-in. */
export function admit({ sessions, door, logger }: AdmitParts): RequestHandler {
  return async (request, response, next) => {
    const session = sessions.get(cookieOf(request, cookieName(request)));
    if (door === null || session?.signedIn === true) {
      visits.set(response, { session, program: false });
      return next();
    }
    const judged = await door.judgeHeader(request.headers.authorization, addressOf(request));
    if (judged === 'admitted') {
      visits.set(response, { session, program: door.kind === 'token' });
      return next();
    }
    if (judged !== undefined) logger.warn({ event: judged }, 'a sign-in at the console was not accepted');
    if (judged === 'slow down') return tooMany(response);
    turnAway(door, request, response);
  };
}

function turnAway(door: Door, request: Request, response: Response): void {
  if (door.kind === 'basic') {
    response.status(401).set('www-authenticate', 'Basic realm="rosterd", charset="UTF-8"');
  } else if (request.method === 'GET' && request.accepts(['text', 'html']) === 'html') {
    response.redirect(303, `/sign-in?to=${encodeURIComponent(request.originalUrl)}`);
    return;
  } else {
    response.status(401).set('www-authenticate', 'Bearer realm="rosterd"');
  }
  response.type('text/plain').send('sign in first: console.auth says how\n');
}

export function tooMany(response: Response): void {
  response
    .status(429)
    .set('retry-after', '60')
    .type('text/plain')
    .send('too many wrong attempts: try again in a minute\n');
}

export const addressOf = (request: Request): string => request.socket.remoteAddress ?? '';

/** The session of this browser, begun if it has none: its cookie goes with the answer. */
export function sessionFor(request: Request, response: Response, sessions: Sessions): Session {
  const visit = visitOf(response);
  if (visit.session !== undefined) return visit.session;
  const session = sessions.begin(false);
  visits.set(response, { ...visit, session });
  giveCookie(request, response, session);
  return session;
}

export function giveCookie(request: Request, response: Response, { id }: Session): void {
  // The browser tells with the form that signs in whether a proxy in front of us speaks TLS to it.
  const secure = request.headers.origin?.startsWith('https:') === true;
  response.cookie(cookieName(request), id, { httpOnly: true, sameSite: 'strict', path: '/', secure });
}

export function takeCookie(request: Request, response: Response): void {
  response.clearCookie(cookieName(request), { httpOnly: true, sameSite: 'strict', path: '/' });
}

function cookieOf(request: Request, name: string): string | undefined {
  return (request.headers.cookie ?? '')
    .split(/; */)
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}
