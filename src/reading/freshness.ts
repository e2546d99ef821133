import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { isThere } from '../store/reads/is-there.js';
import { isAhead } from '../store/reads/judge-source.js';
import { type MirrorPlace, type MirrorReader, readMirror, requireSource } from './read-mirror.js';

export interface Freshness {
  /** `human`: one of the sources that are not fresh will not become so before somebody has looked. */
  readonly verdict: 'fresh' | 'waiting' | 'human';
  readonly at: Instant;
  /** Everything published before this is asked for. */
  readonly wanted_up_to: Instant;
  readonly sources: readonly SourceFreshness[];
}

export interface SourceFreshness {
  readonly source: string;
  readonly fresh: boolean;
  /** Whether a person must do something first. */
  readonly human: boolean;
  /** Null until a first listing is complete. */
  readonly complete_up_to: string | null;
  readonly meaning: string;
  readonly last_error: string | null;
}

export interface FreshnessAsk {
  /** How old the oldest thing missing may be. */
  readonly ageMillis: number;
  readonly timeoutMillis: number;
  /** Null waits for all the mirror has. */
  readonly sources: readonly string[] | null;
  /** The mirror and the sources are to come into being: a daemon may only be starting. Else they must be there. */
  readonly mayBeMissing: boolean;
}

/** A commit is seen this much later at most; a look costs about a millisecond. */
const pollMillis = 500;

/**
 * Waits until every source is complete up to `ageMillis` ago, a person is needed, or the time is up. Only looks: a
 * daemon, or a `rosterd sync`, is what makes it true. Throws `stopped` on a signal, `usage` for an unknown source.
 */
export async function waitForFreshness(
  place: MirrorPlace,
  { ageMillis, timeoutMillis, sources, mayBeMissing }: FreshnessAsk,
  clock: Clock,
  signal: AbortSignal,
): Promise<Freshness> {
  if (!mayBeMissing)
    await readMirror(place, async (db) => {
      for (const source of sources ?? []) await requireSource(db, source);
    });
  const deadline = clock.monotonic() + timeoutMillis;
  for (;;) {
    const seen = await freshnessOf(place, sources, ageMillis, clock.now());
    const left = deadline - clock.monotonic();
    if (seen.verdict !== 'waiting' || left <= 0) return seen;
    await clock.wait(Math.min(pollMillis, left), signal);
    if (signal.aborted) throw new Fault('stopped', 'stopped before the mirror was fresh');
  }
}

async function freshnessOf(
  place: MirrorPlace,
  wanted: readonly string[] | null,
  ageMillis: number,
  now: number,
): Promise<Freshness> {
  const limit = now - ageMillis;
  // A daemon that is only starting makes the mirror in a moment.
  const rows = (await isThere(place)) ? await readMirror(place, standings) : [];
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

type Standing = Awaited<ReturnType<typeof standings>>[number];

function standings(db: MirrorReader) {
  return db
    .selectFrom('sync_status')
    .select(['source', 'state', 'meaning', 'readable', 'complete_up_to'])
    .select(['last_success_at', 'last_outcome', 'last_error'])
    .orderBy('source')
    .execute();
}

function judged(source: string, row: Standing | undefined, limit: number, now: number): SourceFreshness {
  if (row === undefined) {
    const meaning = 'never synced: not in this mirror yet';
    return { source, fresh: false, human: false, complete_up_to: null, meaning, last_error: null };
  }
  // What a first listing has read so far is not shown yet, however far it has come.
  const upTo = row.readable === 1 ? row.complete_up_to : null;
  return {
    source,
    fresh: isFresh(upTo, row.last_success_at, limit, now),
    // Rows that await deletion need a person too, and the source follows the feed meanwhile.
    human: row.state === 'halted',
    complete_up_to: upTo,
    meaning: row.meaning,
    last_error: row.last_error,
  };
}

/**
 * `complete_up_to` is the platform's time. One in the future proves nothing about ours, so the last successful tick
 * has to be as recent too, by our own clock.
 */
function isFresh(upTo: string | null, success: string | null, limit: number, now: number): boolean {
  const reaches = (time: string | null) => time !== null && millisOf(time as Instant) >= limit;
  return reaches(upTo) && (!isAhead(upTo, now) || (reaches(success) && !isAhead(success, now)));
}
