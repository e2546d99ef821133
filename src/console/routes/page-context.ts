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

/** What every page of the dashboard works with. */
export interface Desk extends DashboardParts {
  /** The session of the browser that asks, begun if it has none. */
  session(request: Request, response: Response): Session;
  /** Until when names are shown in this browser; null while they are masked. */
  identityUntil(session: Session): number | null;
  /** Says in the log that names were read, and how many: never whose. */
  audit(what: string, fields: { readonly rows?: number; readonly investment?: string }): void;
  /** Says in the log that a query was not answered, and whether names were shown or masked: never which query. */
  auditRefusal(what: string, identity: boolean): void;
  /** Answers with a page in the usual frame. */
  show(request: Request, response: Response, page: Page, status?: number): void;
}

export function deskOf(parts: DashboardParts): Desk {
  const { source, sessions, clock, version, logger } = parts;
  return {
    ...parts,
    session: (request, response) => sessionFor(request, response, sessions),
    identityUntil: ({ identityUntil }) => (isShown(identityUntil, clock.now()) ? identityUntil : null),
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

/** Long enough to do what one came for, short enough to be masked again when somebody else sits down. */
export const shownMillis = 15 * 60_000;

/** An end further off was set under a clock that was ahead, and is over. */
const isShown = (until: number, now: number) => until > now && until - now <= shownMillis;

const formBytesMax = '64kb';

/** Reads a form and lets it through only when a page of ours, or a program with a token, sent it. */
export const ownForm: readonly RequestHandler[] = [
  urlencoded({ extended: false, limit: formBytesMax, parameterLimit: 20 }),
  (request, response, next) => {
    const { session, program } = visitOf(response);
    if (program || isOwnForm(request, session)) return next();
    refuseForgery(response);
  },
];

/** Fires when whoever asked has gone, so that nothing works for nobody. */
export function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return gone.signal;
}

const fileTypes: Readonly<Record<string, string>> = { csv: 'text/csv', jsonl: 'application/x-ndjson' };

/**
 * Pieces as a download. What goes wrong before the first piece is thrown, with nothing sent; whatever goes wrong later cuts
 * the download off, so that half a file never looks whole.
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
    // Whoever asked may go before the end; then there is nobody to tell.
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

/** A file is read without waiting, and a quick reader never makes us wait either: others get their turn between. */
async function* turnByTurn(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const piece of pieces) {
    yield piece;
    await setImmediate();
  }
}
