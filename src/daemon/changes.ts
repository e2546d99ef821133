import type { Clock } from '../runtime/clock.js';
import type { MirrorPlace } from '../store/place.js';
import { openChangeNews } from '../store/reads/change-news.js';
import { type Change, changesSince, followChanges } from '../store/reads/changes.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { requireSource } from './read-mirror.js';

export type { Change } from '../store/reads/changes.js';

export interface ChangesAsk {
  /** Changes with a greater number. */
  readonly after: number;
  readonly source?: string;
  /** Goes on with what is committed from now on, until the signal fires. */
  readonly follow: boolean;
}

/** Hands the changes to `read` in their order. Throws `usage` for an unknown source. */
export function readChanges<Result>(
  place: MirrorPlace,
  ask: ChangesAsk,
  clock: Clock,
  signal: AbortSignal,
  read: (changes: AsyncIterable<Change>) => Promise<Result>,
): Promise<Result> {
  return readMirror(place, async (db) => {
    await requireSource(db, ask.source);
    const wanted = { after: ask.after, ...(ask.source === undefined ? {} : { source: ask.source }) };
    if (!ask.follow)
      return await read(everyChange((after) => changesSince(db, { ...wanted, after }), wanted.after));
    const news = await openChangeNews(place, db, clock);
    try {
      return await read(followChanges(db, wanted, news, signal));
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
