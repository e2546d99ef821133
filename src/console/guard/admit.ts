import type { Request, RequestHandler, Response } from 'express';
import type { Door } from './authenticator.js';
import type { Session, Sessions } from './sessions.js';

export interface AdmitParts {
  readonly sessions: Sessions;
  /** Null when everybody who reaches the listener may look: then it is bound to this machine alone. */
  readonly door: Door | null;
}

/** What is known of the asker; on every request behind `admit`. */
export interface Visit {
  session: Session | undefined;
  /** Came with a credential in its header, which a page elsewhere cannot add: no form token is needed. */
  readonly program: boolean;
  /** Of the credential in force; empty where nobody has to sign in. */
  readonly mark: string;
  /** Whether it would be let in now as well: for answers that take as long as a page is open. */
  readonly lasts: () => Promise<boolean>;
}

const visits = new WeakMap<Response, Visit>();

const nobody: Visit = { session: undefined, program: false, mark: '', lasts: async () => false };

export function visitOf(response: Response): Visit {
  return visits.get(response) ?? nobody;
}

/** Browsers keep cookies per host, not per port: the port in the name keeps two daemons on one machine apart. */
const cookieName = (request: Request): string => `rosterd_${request.socket.localPort ?? 0}`;

/** Lets in who has signed in, or everybody where nobody has to. Others get the way to the sign-in. */
export function admit({ sessions, door }: AdmitParts): RequestHandler {
  return async (request, response, next) => {
    if (door === null) {
      const session = sessionOf(request, sessions, '');
      visits.set(response, { session, program: false, mark: '', lasts: async () => true });
      return next();
    }
    const mark = await door.mark();
    const session = sessionOf(request, sessions, mark);
    if (session?.signedIn === true) {
      const lasts = async () => sessions.lasts(session, await door.mark());
      visits.set(response, { session, program: false, mark, lasts });
      return next();
    }
    const judged = await door.judgeHeader(request.headers.authorization);
    if (judged === 'admitted') {
      // Judging may have read a credential that was rotated a moment ago.
      const admitted = await door.mark();
      const lasts = async () => admitted === (await door.mark());
      visits.set(response, { session, program: door.kind === 'token', mark: admitted, lasts });
      return next();
    }
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
    .send(
      'not the right credential, like too many before it within a minute; the right one is always accepted\n',
    );
}

/** The session of this browser, begun if it has none: its cookie goes with the answer. */
export function sessionFor(request: Request, response: Response, sessions: Sessions): Session {
  const visit = visitOf(response);
  if (visit.session !== undefined) return visit.session;
  const session = sessions.begin(false, visit.mark);
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

/** The session whose cookie came with a request; undefined when there is none or it has ended. */
export const sessionOf = (request: Request, sessions: Sessions, mark: string): Session | undefined =>
  sessions.get(cookieOf(request, cookieName(request)), mark);

function cookieOf(request: Request, name: string): string | undefined {
  return (request.headers.cookie ?? '')
    .split(/; */)
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}
