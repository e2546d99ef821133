import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { isThere } from '../store/reads/is-there.js';
import { isAhead } from '../store/reads/judge-source.js';
import { type DatabaseLocation, type MirrorReader, readMirror, requireSource } from './read-mirror.js';

export interface Freshness {
  /** `human`: a source that is not fresh needs a person. */
  readonly verdict: 'fresh' | 'waiting' | 'human';
  readonly at: Instant;
  /** The time up to which every source has to be complete. */
  readonly wanted_up_to: Instant;
  readonly sources: readonly SourceFreshness[];
}

export interface SourceFreshness {
  readonly source: string;
  readonly fresh: boolean;
  /** Whether the source needs a person. */
  readonly human: boolean;
  /** Null until a first listing is complete. */
  readonly complete_up_to: string | null;
  readonly meaning: string;
  readonly last_error: string | null;
}

export interface FreshnessAsk {
  /** How far behind a source may be. */
  readonly ageMillis: number;
  readonly timeoutMillis: number;
  /** Null waits for every source of the mirror. */
  readonly sources: readonly string[] | null;
  /** Whether the mirror and the sources may not exist yet, because a daemon is only starting. */
  readonly mayBeMissing: boolean;
}

/** How often the mirror is read, and so how late a commit is noticed at most. */
const pollMillis = 500;

/**
 * Waits until every source is complete up to `ageMillis` ago, a source needs a person, or the timeout. Only reads: a
 * daemon or `rosterd sync` has to do the work. Throws `stopped` on a signal, `usage` for an unknown source.
 */
export async function waitForFreshness(
  location: DatabaseLocation,
  { ageMillis, timeoutMillis, sources, mayBeMissing }: FreshnessAsk,
  clock: Clock,
  signal: AbortSignal,
): Promise<Freshness> {
  if (!mayBeMissing)
    await readMirror(location, async (db) => {
      for (const source of sources ?? []) await requireSource(db, source);
    });
  const deadline = clock.monotonic() + timeoutMillis;
  for (;;) {
    const seen = await freshnessOf(location, sources, ageMillis, clock.now());
    const left = deadline - clock.monotonic();
    if (seen.verdict !== 'waiting' || left <= 0) return seen;
    await clock.wait(Math.min(pollMillis, left), signal);
    if (signal.aborted) throw new Fault('stopped', 'stopped before the mirror was fresh');
  }
}

async function freshnessOf(
  location: DatabaseLocation,
  wanted: readonly string[] | null,
  ageMillis: number,
  now: number,
): Promise<Freshness> {
  const limit = now - ageMillis;
  // A starting daemon may not have created the mirror yet.
  const rows = (await isThere(location)) ? await readMirror(location, freshnessRows) : [];
  const names = wanted ?? rows.map(({ source }) => source);
  const sources = names.map((name) =>
    judged(
      name,
      rows.find(({ source }) => source === name),
      limit,
      now,
    ),
  );
  const stale = sources.filter(({ fresh }) => !fresh);
  const fresh = sources.length > 0 && stale.length === 0;
  return {
    verdict: fresh ? 'fresh' : stale.some(({ human }) => human) ? 'human' : 'waiting',
    at: instantFromMillis(now),
    wanted_up_to: instantFromMillis(limit),
    sources,
  };
}

type FreshnessRow = Awaited<ReturnType<typeof freshnessRows>>[number];

function freshnessRows(db: MirrorReader) {
  return db
    .selectFrom('sync_status')
    .select(['source', 'state', 'meaning', 'readable', 'complete_up_to'])
    .select(['last_success_at', 'last_outcome', 'last_error'])
    .orderBy('source')
    .execute();
}

function judged(source: string, row: FreshnessRow | undefined, limit: number, now: number): SourceFreshness {
  if (row === undefined) {
    const meaning = 'never synced: not in this mirror yet';
    return { source, fresh: false, human: false, complete_up_to: null, meaning, last_error: null };
  }
  // Rows of a first listing are not visible until it is complete.
  const upTo = row.readable === 1 ? row.complete_up_to : null;
  return {
    source,
    fresh: isFresh(upTo, row.last_success_at, limit, now),
    // Rows that await deletion need a person too, but the source keeps following the feed.
    human: row.state === 'halted',
    complete_up_to: upTo,
    meaning: row.meaning,
    last_error: row.last_error,
  };
}

/**
 * `complete_up_to` is a time of the platform's clock. When it is ahead of this clock, the last successful tick, dated
 * by this clock, has to be recent enough too.
 */
function isFresh(upTo: string | null, success: string | null, limit: number, now: number): boolean {
  const reaches = (time: string | null) => time !== null && millisOf(time as Instant) >= limit;
  return reaches(upTo) && (!isAhead(upTo, now) || (reaches(success) && !isAhead(success, now)));
}
