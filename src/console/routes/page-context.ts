import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { type Request, type RequestHandler, type Response, urlencoded } from 'express';
import type { Clock } from '../../runtime/clock.js';
import type { Logger } from '../../runtime/logger.js';
import { sessionFor, visitOf } from '../guard/admit.js';
import { isOwnForm } from '../guard/own-forms.js';
import type { Session, Sessions } from '../guard/sessions.js';
import { type Page, pageText } from '../parts/layout.js';
import type { DashboardSource } from '../ports/dashboard.js';
import { refuseForgery } from '../sign-in.js';

export interface DashboardParts {
  readonly source: DashboardSource;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
}

/** What every route of the dashboard needs. */
export interface PageContext extends DashboardParts {
  /** Returns the session of the browser, and begins one if necessary. */
  session(request: Request, response: Response): Session;
  /** Returns the time until which names are shown in this browser; null while they are masked. */
  identityUntil(session: Session): number | null;
  /** Shows names in this browser for a limited time, or masks them again. */
  setIdentity(session: Session, show: boolean): void;
  /** Logs that names were read, and how many, but never whose. */
  audit(what: string, fields: { readonly rows?: number; readonly investment?: string }): void;
  /** Logs that a query was rejected, and whether names were shown or masked, but never the query. */
  auditRefusal(what: string, identity: boolean): void;
  /** Sends a page in the common layout. */
  show(request: Request, response: Response, page: Page, status?: number): void;
}

export function pageContextOf(parts: DashboardParts): PageContext {
  const { source, sessions, clock, version, logger } = parts;
  return {
    ...parts,
    session: (request, response) => sessionFor(request, response, sessions),
    identityUntil: ({ identityUntil }) => (isShown(identityUntil, clock.now()) ? identityUntil : null),
    setIdentity: (session, show) => {
      session.identityUntil = show ? clock.now() + shownMillis : 0;
      // Masking also drops the names that were searched for.
      if (!show) session.names.forget();
      logger.info({}, show ? 'identity is shown on request' : 'identity is masked again');
    },
    audit: (what, fields) => logger.info({ ...fields, event: what }, 'identity was shown at the console'),
    auditRefusal: (what, identity) =>
      logger.info(
        { event: what, outcome: 'refused', mode: identity ? 'identity shown' : 'identity masked' },
        'a query was refused at the console',
      ),
    show: (request, response, page, status = 200) => {
      const session = sessionFor(request, response, sessions);
      const frame = { mirrorOf: source.mirrorOf, csrf: session.csrf, version, signedIn: session.signedIn };
      response.status(status).type('html').send(pageText(frame, page));
    },
  };
}

/** Long enough to finish a task, short enough to mask names again before another person uses the browser. */
const shownMillis = 15 * 60_000;

/** An end further away was set while the clock was ahead, and does not count. */
const isShown = (until: number, now: number) => until > now && until - now <= shownMillis;

const formBytesMax = '64kb';

/** Parses a form, and rejects it unless a page of this console or a program with a token sent it. */
export const ownForm: readonly RequestHandler[] = [
  urlencoded({ extended: false, limit: formBytesMax, parameterLimit: 20 }),
  (request, response, next) => {
    const { session, program } = visitOf(response);
    if (program || isOwnForm(request, session)) return next();
    refuseForgery(response);
  },
];

/** Returns a signal that aborts when the client closes the connection, so that its query stops. */
export function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return gone.signal;
}

const fileTypes: Readonly<Record<string, string>> = { csv: 'text/csv', jsonl: 'application/x-ndjson' };

/**
 * Sends pieces as a download. An error before the first piece is thrown with nothing sent. A later error aborts the
 * connection, so that a truncated file never looks complete.
 */
export async function sendFile(
  response: Response,
  name: string,
  pieces: AsyncIterable<string>,
): Promise<void> {
  const started = await begun(pieces);
  response.attachment(name).type(`${fileTypes[name.slice(name.lastIndexOf('.') + 1)]}; charset=utf-8`);
  try {
    await pipeline(Readable.from(turnByTurn(started)), response);
  } catch (error) {
    // The client closed the connection before the end, which is not an error.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'))
      throw error;
  }
}

async function begun(pieces: AsyncIterable<string>): Promise<AsyncIterable<string>> {
  const reading = pieces[Symbol.asyncIterator]();
  const first = await reading.next();
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for (let piece = first; piece.done !== true; piece = await reading.next()) yield piece.value;
      } finally {
        await reading.return?.();
      }
    },
  };
}

/** Yields to the event loop between pieces: neither reading a file nor a fast client would ever make this wait. */
async function* turnByTurn(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const piece of pieces) {
    yield piece;
    await setImmediate();
  }
}
