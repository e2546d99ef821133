import { type Fault, isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { MirrorPlace } from '../store/database-location.js';
import { openChangeNews } from '../store/reads/change-signal.js';
import { type Change, changesSince, followChanges } from '../store/reads/changes.js';
import { openReader } from '../store/reads/open-reader.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { requireSource } from './read-mirror.js';

export type { Change } from '../store/reads/changes.js';

export interface ChangesAsk {
  /** Changes with a greater number. */
  readonly after: number;
  readonly source?: string;
  /** Goes on with what is committed from now on, until the signal fires. */
  readonly follow: boolean;
  /** Told once whenever whoever follows has to wait for the database. */
  readonly onWait?: (why: Fault) => void;
}

/** Hands the changes to `read` in their order. Throws `usage` for an unknown source. */
export function readChanges<Result>(
  place: MirrorPlace,
  ask: ChangesAsk,
  clock: Clock,
  signal: AbortSignal,
  read: (changes: AsyncIterable<Change>) => Promise<Result>,
): Promise<Result> {
  if (ask.follow) return read(follow(place, ask, clock, signal));
  return readMirror(place, async (db) => {
    await requireSource(db, ask.source);
    const wanted = ask.source === undefined ? {} : { source: ask.source };
    return await read(everyChange((after) => changesSince(db, { ...wanted, after }), ask.after));
  });
}

/** Ends at the first empty batch; each turn begins behind the last number of the one before. */
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

/** How soon a database that does not answer is asked again, and no later than. */
const [againMillis, againMillisMax] = [500, 15_000];
/** A look reads a thousand rows by their number. A server that takes longer has died in silence, or will say so. */
const answerMillis = 10_000;

/**
 * What passes by itself, such as a restart of the server, is waited for, and followed on over another connection from
 * where it was; anything else ends it, as does whatever keeps it from beginning.
 */
async function* follow(
  place: MirrorPlace,
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
  // Ends with the signal, or with what will not pass.
  while (!signal.aborted) {
    try {
      for await (const change of followOnce(place, { ...ask, after, known }, clock, signal, onOpen)) {
        after = change.seq;
        known = change.seq;
        yield change;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!began || !isFault(error, 'database_busy')) throw error;
      if (tries === 0) ask.onWait?.(error);
      await clock.wait(Math.min(againMillisMax, againMillis * 2 ** Math.min(tries, 10)), signal);
      tries += 1;
    }
  }
}

/** Over one connection, and no longer than it lasts. */
async function* followOnce(
  place: MirrorPlace,
  { after, known, source }: ChangesAsk & { readonly known: number },
  clock: Clock,
  signal: AbortSignal,
  onOpen: () => void,
): AsyncGenerator<Change> {
  const reader = await openReader(place, { answerMillis });
  try {
    await requireSource(reader.db, source);
    onOpen();
    const news = await openChangeNews(place, reader.db, clock);
    try {
      const wanted = { after, known, ...(source === undefined ? {} : { source }) };
      yield* followChanges(reader.db, wanted, news, signal);
    } finally {
      await news.close();
    }
  } catch (error) {
    throw reader.faultOf(error);
  } finally {
    await reader.close();
  }
}
