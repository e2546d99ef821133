import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { type Request, type RequestHandler, type Response, urlencoded } from 'express';
import { defined } from '../../domain/defined.js';
import { isFault } from '../../domain/fault.js';
import { type Right, roleMay } from '../../domain/role.js';
import type { Clock } from '../../runtime/clock.js';
import type { Logger } from '../../runtime/logger.js';
import { sessionFor, visitOf } from '../guard/admit.js';
import { isOwnForm } from '../guard/own-forms.js';
import type { Session, Sessions } from '../guard/sessions.js';
import { problemBody } from '../pages/problem.js';
import { type Page, pageText } from '../parts/layout.js';
import type { DashboardSource } from '../ports/dashboard.js';
import type { AuditLine, Operations } from '../ports/operations.js';
import { refuseForgery } from '../sign-in.js';

export interface DashboardParts {
  readonly source: DashboardSource;
  readonly operations: Operations;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
}

/** What shows names, by its action in the audit log, and as the daemon's log calls it. */
const events = {
  read_roster: 'roster',
  read_record: 'record',
  download_roster: 'roster file',
  query: 'query',
  download_query: 'query file',
} as const;
type Reading = keyof typeof events;

/** What every route of the dashboard needs. */
export interface PageContext extends DashboardParts {
  /** Returns the session of the browser, and begins one if necessary. */
  session(request: Request, response: Response): Session;
  /** Returns the time until which names are shown in this browser; null while they are masked. */
  identityUntil(session: Session): number | null;
  /** Returns whether the role of the client gives it this right. */
  may(response: Response, right: Right): boolean;
  /**
   * Shows names in this browser for a limited time, or masks them again. Returns false, with the refusal sent, when the
   * role of the client does not allow it.
   */
  setIdentity(request: Request, response: Response, show: boolean): Promise<boolean>;
  /**
   * Writes to the audit log that names are read, and how many, but never whose. Call it before they are sent: names are
   * not shown when it rejects.
   */
  audit(
    response: Response,
    action: Reading,
    about: Pick<AuditLine, 'rows' | 'source' | 'subject'>,
  ): Promise<void>;
  /**
   * Logs that a query was rejected, and whether names were shown or masked, but never the query. While names are shown, it
   * writes to the audit log too, because a message of the database may quote what the statement read. Call it before the
   * message is sent: the message is not shown when it rejects.
   */
  auditRefusal(
    response: Response,
    action: 'query' | 'download_query',
    identity: boolean,
    error: unknown,
  ): Promise<void>;
  /** Responds that the role of the client does not allow this. */
  refuse(request: Request, response: Response, why: string): void;
  /** Sends a page in the common layout. */
  show(request: Request, response: Response, page: Page, status?: number): void;
}

export function pageContextOf(parts: DashboardParts): PageContext {
  const { source, sessions, clock, version, logger, operations } = parts;
  const may = (response: Response, right: Right) => roleMay(visitOf(response).actor.role, right);
  const show: PageContext['show'] = (request, response, page, status = 200) => {
    const { csrf, signedIn, actor } = sessionFor(request, response, sessions);
    const frame = { mirrorOf: source.mirrorOf, csrf, version, signedIn, actor };
    response.status(status).type('html').send(pageText(frame, page));
  };
  const refuse: PageContext['refuse'] = (request, response, why) => {
    const { actor, program } = visitOf(response);
    const hint = `You are ${actor.name}, with the role ${actor.role}. console.auth in the configuration gives roles.`;
    if (program) {
      response.status(403).json({ done: false, message: why, hint });
      return;
    }
    show(request, response, { title: 'Not allowed', body: problemBody('Not allowed', why, hint) }, 403);
  };
  return {
    ...parts,
    may,
    show,
    refuse,
    session: (request, response) => sessionFor(request, response, sessions),
    identityUntil: ({ identityUntil, actor }) =>
      roleMay(actor.role, 'names') && isShown(identityUntil, clock.now()) ? identityUntil : null,
    setIdentity: async (request, response, show) => {
      const session = sessionFor(request, response, sessions);
      const { actor } = visitOf(response);
      const action = show ? 'show_names' : 'mask_names';
      if (show && !may(response, 'names')) {
        await operations.audit({ actor, action, outcome: 'refused' });
        refuse(request, response, 'Your role does not show names of investors.');
        return false;
      }
      if (!show) {
        session.identityUntil = 0;
        // Masking also drops the names that were searched for.
        session.names.forget();
      }
      await operations.audit({ actor, action, outcome: 'done' });
      if (show) session.identityUntil = clock.now() + shownMillis;
      logger.info({}, show ? 'identity is shown on request' : 'identity is masked again');
      return true;
    },
    audit: async (response, action, about) => {
      await operations.audit({ actor: visitOf(response).actor, action, outcome: 'done', ...about });
      const fields = { ...defined({ rows: about.rows, investment: about.subject }), event: events[action] };
      logger.info(fields, 'identity was shown at the console');
    },
    auditRefusal: async (response, action, identity, error) => {
      const outcome = isFault(error, 'usage') ? 'refused' : 'failed';
      if (identity) await operations.audit({ actor: visitOf(response).actor, action, outcome });
      if (!isFault(error)) return;
      logger.info(
        { event: events[action], outcome: 'refused', mode: identity ? 'identity shown' : 'identity masked' },
        'a query was refused at the console',
      );
    },
  };
}

/** Long enough to finish a task, short enough to mask names again before another person uses the browser. */
const shownMillis = 15 * 60_000;

/** An end further away was set while the clock was ahead, and does not count. */
const isShown = (until: number, now: number) => until > now && until - now <= shownMillis;

/** A statement of 20,000 characters, each of which takes nine bytes in a form if it is Chinese. */
const formBytesMax = '256kb';

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

const fileTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/x-ndjson; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/**
 * Sends pieces as a download. An error before the first piece is thrown with nothing sent. A later error aborts the
 * connection, so that a truncated file never looks complete. So does a client that does not take the file within
 * `millisMax`: browsers can pause a download for days.
 */
export async function sendFile(
  response: Response,
  name: string,
  pieces: AsyncIterable<string | Uint8Array>,
  { clock, logger, millisMax }: Pick<DashboardParts, 'clock' | 'logger'> & { readonly millisMax: number },
): Promise<void> {
  const started = await begun(pieces);
  const sent = new AbortController();
  const late = new AbortController();
  void clock.wait(millisMax, sent.signal).then(() => {
    if (!sent.signal.aborted) late.abort();
  });
  response
    .attachment(name)
    .type(fileTypes[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream');
  try {
    await pipeline(Readable.from(turnByTurn(started)), response, { signal: late.signal });
  } catch (error) {
    if (late.signal.aborted) {
      logger.warn({ file: name }, 'a download was ended: its client did not take it in time');
      return;
    }
    // The client closed the connection before the end, which is not an error.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'))
      throw error;
  } finally {
    sent.abort();
  }
}

async function begun<Piece>(pieces: AsyncIterable<Piece>): Promise<AsyncIterable<Piece>> {
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
async function* turnByTurn<Piece>(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
  for await (const piece of pieces) {
    yield piece;
    await setImmediate();
  }
}
