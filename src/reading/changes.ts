import { defined } from '../domain/defined.js';
import { type Fault, isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { openChangeSignal } from '../store/reads/change-signal.js';
import {
  type Change,
  changesSince,
  followChanges,
  newestChange,
  newestChanges,
} from '../store/reads/changes.js';
import { openReader } from '../store/reads/open-reader.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { requireSource } from './read-mirror.js';

export type { Change, ChangedColumns } from '../store/reads/changes.js';

export interface ChangesAsk {
  /** Returns changes with a greater number. */
  readonly after: number;
  readonly source?: string;
  /** Continues with new commits until the signal fires. */
  readonly follow: boolean;
  /** Called once each time following has to wait for the database. */
  readonly onWait?: (why: Fault) => void;
}

/** Passes the changes to `read` in their order. Throws `usage` for an unknown source. */
export function readChanges<Result>(
  location: DatabaseLocation,
  ask: ChangesAsk,
  clock: Clock,
  signal: AbortSignal,
  read: (changes: AsyncIterable<Change>) => Promise<Result>,
): Promise<Result> {
  if (ask.follow) return read(follow(location, ask, clock, signal));
  return readMirror(location, async (db) => {
    await requireSource(db, ask.source);
    const wanted = defined({ source: ask.source });
    return await read(everyChange((after) => changesSince(db, { ...wanted, after }), ask.after));
  });
}

export interface LatestWanted {
  /** Changes with a greater number, from the first; without it, the newest changes. */
  readonly after?: number;
  readonly source?: string;
  readonly limit: number;
}

/** Returns some changes in their order, and the number of the newest one. Throws `usage` for an unknown source. */
export function readLatestChanges(
  location: DatabaseLocation,
  { after, source, limit }: LatestWanted,
): Promise<{ readonly changes: readonly Change[]; readonly newest: number }> {
  return readMirror(location, async (db) => {
    await requireSource(db, source);
    // Read first, so that it is never newer than the changes.
    const newest = await newestChange(db);
    const wanted = { limit, ...defined({ source }) };
    const changes = await (after === undefined
      ? newestChanges(db, wanted)
      : changesSince(db, { ...wanted, after }));
    return { changes, newest: Math.max(newest, changes.at(-1)?.seq ?? 0) };
  });
}

/** Reads batches after the last `seq` until one is empty. */
async function* everyChange(
  batch: (after: number) => Promise<readonly Change[]>,
  from: number,
): AsyncGenerator<Change> {
  let changes = await batch(from);
  for (let last = changes.at(-1); last !== undefined; last = changes.at(-1)) {
    yield* changes;
    changes = await batch(last.seq);
  }
}

/** The first and the longest wait before a database that does not answer is retried. */
const [retryMillis, retryMillisMax] = [500, 15_000];
/** One read fetches a thousand rows by their number. A connection that takes longer counts as broken. */
const answerMillis = 10_000;

/**
 * Follows the feed across temporary failures, such as a restart of the server: it waits and continues on a new
 * connection from the last change. Any other failure, and any failure before the first connection, ends it.
 */
async function* follow(
  location: DatabaseLocation,
  ask: ChangesAsk,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Change> {
  let { after } = ask;
  let known = 0;
  let began = false;
  let tries = 0;
  const onOpen = () => {
    began = true;
    tries = 0;
  };
  // Ends with the signal, or with a failure that is not temporary.
  while (!signal.aborted) {
    try {
      for await (const change of followOnce(location, { ...ask, after, known }, clock, signal, onOpen)) {
        after = change.seq;
        known = change.seq;
        yield change;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!began || !isFault(error, 'database_busy')) throw error;
      if (tries === 0) ask.onWait?.(error);
      await clock.wait(Math.min(retryMillisMax, retryMillis * 2 ** Math.min(tries, 10)), signal);
      tries += 1;
    }
  }
}

/** Follows the feed on one connection until it fails. */
async function* followOnce(
  location: DatabaseLocation,
  { after, known, source }: ChangesAsk & { readonly known: number },
  clock: Clock,
  signal: AbortSignal,
  onOpen: () => void,
): AsyncGenerator<Change> {
  const reader = await openReader(location, { answerMillis });
  try {
    await requireSource(reader.db, source);
    onOpen();
    const news = await openChangeSignal(location, reader.db, clock);
    try {
      const wanted = { after, known, ...defined({ source }) };
      yield* followChanges(reader.db, wanted, news, signal);
    } finally {
      await news.close();
    }
  } catch (error) {
    throw await reader.faultOf(error);
  } finally {
    await reader.close();
  }
}
