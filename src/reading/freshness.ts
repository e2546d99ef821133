import { Fault, isFault } from '../domain/fault.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { awaitsMigration, isThere } from '../store/reads/is-there.js';
import { isAhead } from '../store/reads/judge-source.js';
import {
  type DatabaseLocation,
  type MirrorReader,
  oneOfSources,
  readMirror,
  requireSource,
} from './read-mirror.js';

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
  /** The sources to wait for; none for all. */
  readonly sources: readonly string[];
  /**
   * What the configuration names. The mirror and its sources may not exist yet, or await a migration, because a daemon is
   * only starting. Null waits for the sources of the mirror, which has to exist.
   */
  readonly configured: Configured | null;
}

/** The listed sources, and the follow rules that create others. */
export interface Configured {
  readonly listed: readonly string[];
  readonly rules: readonly string[];
}

/** How often the mirror is read, and so how late a commit is noticed at most. */
const pollMillis = 500;

/**
 * How long a query of a server may take. It waits while a migration or a restore has locked the mirror, and `wait` has a
 * deadline and obeys signals. After a deadline that is over, as with none at all, the mirror is still read once.
 */
const [answerMillisMin, answerMillisMax] = [5_000, 10_000];

/**
 * Waits until every source is complete up to `ageMillis` ago, a source needs a person, or the timeout. Only reads: a
 * daemon or `rosterd sync` has to do the work. Throws `stopped` on a signal, and after the timeout if another transaction
 * has locked a mirror whose sources are not known; `usage` for an unknown source.
 */
export async function waitForFreshness(
  location: DatabaseLocation,
  ask: FreshnessAsk,
  clock: Clock,
  signal: AbortSignal,
): Promise<Freshness> {
  const { timeoutMillis } = ask;
  const deadline = clock.monotonic() + timeoutMillis;
  const answerMillis = () =>
    Math.min(answerMillisMax, Math.max(answerMillisMin, deadline - clock.monotonic()));
  let unread = await requireSources(location, ask, answerMillis());
  for (;;) {
    const read: Seen = unread ?? (await seenIn(location, ask.configured, answerMillis()));
    const seen = freshnessOf(read, ask, clock.now());
    const left = deadline - clock.monotonic();
    if (left <= 0 && read.lock !== null && seen.sources.length === 0)
      throw new Fault('stopped', read.lock.message, read.lock.about);
    if (seen.verdict !== 'waiting' || left <= 0) return seen;
    await clock.wait(Math.min(pollMillis, left), signal);
    if (signal.aborted) throw new Fault('stopped', 'stopped before the mirror was fresh');
    if (unread !== null) unread = await requireSources(location, ask, answerMillis());
  }
}

/**
 * Throws `usage` for a source that neither the configuration nor the mirror has. Returns what could be seen if the mirror is
 * locked and has to be asked later, else null.
 */
async function requireSources(
  location: DatabaseLocation,
  { sources, configured }: FreshnessAsk,
  answerMillis: number,
): Promise<Seen | null> {
  if (configured === null) {
    const names = async (db: MirrorReader) => {
      for (const source of sources) await requireSource(db, source);
    };
    return await readMirror(location, names, { answerMillis }).then(() => null, lockedOr);
  }
  if (sources.every((name) => configured.listed.includes(name))) return null;
  const seen = await seenIn(location, configured, answerMillis);
  if (seen.lock !== null) return seen;
  // The registry of followed sources is not readable yet.
  if (seen.awaitsMigration && configured.rules.length > 0) return null;
  const known = wanted({ sources: [], configured }, seen);
  const unknown = sources.find((name) => !known.includes(name));
  if (unknown === undefined) return null;
  throw new Fault('usage', `no source is called ${JSON.stringify(unknown)}`, {
    hint: oneOfSources(known),
  });
}

interface Seen {
  readonly rows: ReadonlyMap<string, FreshnessRow>;
  /** The registry of followed sources. */
  readonly followed: readonly FollowedRow[];
  /** Whether the mirror cannot be read before a daemon creates or migrates its schema. */
  readonly awaitsMigration: boolean;
  /** Why nothing could be read while another transaction has locked the mirror. */
  readonly lock: Fault | null;
}

const nothing: Seen = { rows: new Map(), followed: [], awaitsMigration: false, lock: null };

/** Returns what is seen of a mirror that another transaction has locked. Throws any other error. */
function lockedOr(error: unknown): Seen {
  if (isLocked(error)) return { ...nothing, lock: error };
  throw error;
}

const isLocked = (error: unknown): error is Fault =>
  isFault(error, 'database_busy') && error.about.locked === true;

/** A starting daemon may not have created the mirror yet, or not migrated one that an earlier version wrote. */
async function seenIn(
  location: DatabaseLocation,
  configured: FreshnessAsk['configured'],
  answerMillis: number,
): Promise<Seen> {
  if (!(await isThere(location))) return nothing;
  return await read(location, answerMillis).catch(async (error: unknown) => {
    if (configured === null || isLocked(error)) return lockedOr(error);
    const awaits = await awaitsMigration(location).catch(() => null);
    if (awaits === null) throw error;
    // The daemon may have migrated it since it was read.
    return awaits
      ? { ...nothing, awaitsMigration: true }
      : await read(location, answerMillis).catch(lockedOr);
  });
}

async function read(location: DatabaseLocation, answerMillis: number): Promise<Seen> {
  const all = async (db: MirrorReader): Promise<Seen> => ({
    ...nothing,
    rows: new Map((await freshnessRows(db)).map((row) => [row.source, row])),
    followed: await followedRows(db),
  });
  return await readMirror(location, all, { answerMillis });
}

/**
 * Returns the sources to wait for. A followed source whose installation ended is never up to date again, so it counts only
 * when it is named.
 */
function wanted(
  { sources, configured }: Pick<FreshnessAsk, 'sources' | 'configured'>,
  { rows, followed }: Pick<Seen, 'rows' | 'followed'>,
): readonly string[] {
  if (sources.length > 0) return sources;
  if (configured === null) {
    const ended = new Set(followed.filter((row) => !isOpen(row)).map(({ source }) => source));
    return [...rows.keys()].filter((name) => !ended.has(name));
  }
  const { listed, rules } = configured;
  const ours = followed.filter((row) => isOpen(row) && rules.includes(row.rule));
  return [...new Set([...listed, ...ours.map(({ source }) => source)])];
}

const isOpen = ({ state }: FollowedRow): boolean => state === 'waiting' || state === 'connected';

function freshnessOf(seen: Seen, ask: FreshnessAsk, now: number): Freshness {
  const limit = now - ask.ageMillis;
  const waiting = new Set(
    seen.followed.filter(({ state }) => state === 'waiting').map(({ source }) => source),
  );
  const sources = wanted(ask, seen).map((name) => {
    const found = judged(name, seen, limit, now);
    return waiting.has(name) ? { ...found, fresh: false, meaning: 'waits for its token' } : found;
  });
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
type FollowedRow = Awaited<ReturnType<typeof followedRows>>[number];

function followedRows(db: MirrorReader) {
  return db.selectFrom('followed_sources').select(['source', 'rule', 'state']).orderBy('source').execute();
}

function freshnessRows(db: MirrorReader) {
  return db
    .selectFrom('sync_status')
    .select(['source', 'state', 'meaning', 'readable', 'complete_up_to'])
    .select(['last_success_at', 'last_outcome', 'last_error'])
    .orderBy('source')
    .execute();
}

function judged(
  source: string,
  { rows, awaitsMigration, lock }: Seen,
  limit: number,
  now: number,
): SourceFreshness {
  const row = rows.get(source);
  if (row === undefined) {
    const meaning =
      lock !== null
        ? 'not readable: a migration or another transaction has locked the mirror'
        : awaitsMigration
          ? 'the schema awaits its migration'
          : 'never synced: not in this mirror yet';
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
