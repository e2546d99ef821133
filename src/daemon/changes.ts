import { type Fault, isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { MirrorPlace } from '../store/place.js';
import { openChangeNews } from '../store/reads/change-news.js';
import { type Change, changesSince, followChanges, type Patiently } from '../store/reads/changes.js';
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

/** How soon a database that does not answer is asked again, and no later than. */
const [waitMillis, waitMillisMax] = [500, 15_000];

/** Hands the changes to `read` in their order. Throws `usage` for an unknown source. */
export function readChanges<Result>(
  place: MirrorPlace,
  ask: ChangesAsk,
  clock: Clock,
  signal: AbortSignal,
  read: (changes: AsyncIterable<Change>) => Promise<Result>,
): Promise<Result> {
  return readMirror(place, async (db, faultOf) => {
    await requireSource(db, ask.source);
    const wanted = { after: ask.after, ...(ask.source === undefined ? {} : { source: ask.source }) };
    if (!ask.follow)
      return await read(everyChange((after) => changesSince(db, { ...wanted, after }), wanted.after));
    const news = await openChangeNews(place, db, clock);
    try {
      const patiently = untilAnswered({ faultOf, clock, onWait: ask.onWait ?? (() => {}) }, signal);
      return await read(followChanges(db, wanted, news, signal, patiently));
    } finally {
      await news.close();
    }
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

/** What passes by itself, such as a restart of the server, is waited for; anything else ends it. */
function untilAnswered(
  parts: {
    readonly faultOf: (error: unknown) => unknown;
    readonly clock: Clock;
    readonly onWait: (why: Fault) => void;
  },
  signal: AbortSignal,
): Patiently {
  return async (look) => {
    // Ends with an answer, with what will not pass, or with the signal.
    for (let tries = 0; !signal.aborted; tries += 1) {
      try {
        return await look();
      } catch (error) {
        const why = parts.faultOf(error);
        if (!isFault(why, 'database_busy')) throw error;
        if (tries === 0 && !signal.aborted) parts.onWait(why);
        await parts.clock.wait(Math.min(waitMillisMax, waitMillis * 2 ** Math.min(tries, 10)), signal);
      }
    }
    return null;
  };
}
