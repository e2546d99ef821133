import { type Fault, isFault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { type Random, seededRandom } from '../runtime/random.js';
import type { CatchUp, Platform, StoredRows } from './ports.js';
import type { Drift, Ended, FullReceipt, SampleReceipt, SourceReceipt, StatsReceipt } from './receipt.js';
import type { Settled } from './settle.js';
import { verifyListing } from './verify-listing.js';
import { verifyRecords } from './verify-records.js';
import { type StatsScope, verifyStats } from './verify-stats.js';

export interface VerifyAsk {
  /** Number of records to request one by one. */
  readonly sample: number;
  readonly seed: number;
  readonly full: boolean;
}

export interface VerifyParts {
  readonly source: string;
  readonly scope: StatsScope;
  readonly stored: StoredRows;
  readonly platform: Platform;
  readonly catchUp: CatchUp;
  readonly pause: () => Promise<void>;
  readonly clock: Clock;
}

/**
 * Compares a source with the platform: catches up, then compares counts and sums, then single records, then
 * everything if asked. Findings made before a budget, a quota or a signal ended the run are in the receipt.
 */
export async function verifySource(parts: VerifyParts, ask: VerifyAsk): Promise<SourceReceipt> {
  const { clock, stored, source } = parts;
  const begun = clock.monotonic();
  const at = instantFromMillis(clock.now());
  const drift: Drift[] = [];
  const unsettled: string[] = [];
  let publishedThrough: Instant | null = null;
  let stats: StatsReceipt | null = null;
  let sample: SampleReceipt | null = null;
  let full: FullReceipt | null = null;
  let ended: Ended | null = null;

  const catchUp: CatchUp = async () => {
    publishedThrough = (await parts.catchUp()) ?? publishedThrough;
    return publishedThrough;
  };
  const found = (part: Settled) => {
    if (part.settled) drift.push(...part.drift);
    else unsettled.push(...part.drift.map((one) => (one.kind === 'tally' ? one.offering : one.id)));
  };
  const tools = { ...parts, catchUp, found };
  try {
    await catchUp();
    stats = await verifyStats(tools, parts.scope);
    const { compared, unpublished } = await verifyRecords(tools, await sampleOf(stored, ask));
    sample = { seed: ask.seed, compared, unpublished: unpublished.length };
    if (ask.full) full = await verifyListing(tools, publishedThrough);
  } catch (error) {
    if (!isFault(error)) throw error;
    ended = endedBy(error);
  }
  const named = distinct(drift);
  const awaiting = (await stored.awaiting()).size;
  const quarantined = await stored.quarantined();
  const seen = { stats, sample, full, quarantined };
  return {
    source,
    outcome: outcomeOf(named, unsettled, ended, awaiting, isIncomplete(seen)),
    at,
    took_ms: Math.round(clock.monotonic() - begun),
    published_through: publishedThrough,
    rows: await stored.count(),
    awaiting_deletion: awaiting,
    ...seen,
    drift: named,
    unsettled: [...new Set(unsettled)],
    ended,
  };
}

/** Returns the ids to sample. The same seed over the same rows selects the same records. */
async function sampleOf(stored: StoredRows, { sample, seed }: VerifyAsk): Promise<readonly string[]> {
  const count = await stored.count();
  return await stored.idsAt(positions(seededRandom(seed), Math.min(sample, count), count));
}

/** Floyd's algorithm: `wanted` distinct positions of `count` in as many draws. */
function positions(random: Random, wanted: number, count: number): readonly number[] {
  const chosen = new Set<number>();
  for (let last = count - wanted; last < count; last += 1) {
    const drawn = Math.floor(random.fraction() * (last + 1));
    chosen.add(chosen.has(drawn) ? last : drawn);
  }
  return [...chosen].sort((one, other) => one - other);
}

/** Removes duplicates: both the sample and the listing may find the same record. */
function distinct(drift: readonly Drift[]): readonly Drift[] {
  return [...new Map(drift.map((one) => [textOf(one), one])).values()];
}

/** JSON has no bigints, which large sums are. */
const textOf = (drift: Drift): string =>
  JSON.stringify(drift, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

function outcomeOf(
  drift: readonly Drift[],
  unsettled: readonly string[],
  ended: Ended | null,
  awaiting: number,
  incomplete: boolean,
): SourceReceipt['outcome'] {
  if (drift.length > 0) return 'drift';
  if (ended !== null)
    return ended.code === 'stopped' || ended.code === 'rate_limited' ? 'unfinished' : 'failed';
  if (unsettled.length > 0) return 'unsettled';
  if (incomplete) return 'incomplete';
  return awaiting > 0 ? 'awaiting' : 'equal';
}

type Seen = Pick<SourceReceipt, 'stats' | 'sample' | 'full' | 'quarantined'>;

/** A run that compared nothing, or that could not read a record, cannot say that the two sides are equal. */
function isIncomplete({ stats, sample, full, quarantined }: Seen): boolean {
  const compared = full !== null || (stats?.offerings ?? 0) > 0 || (sample?.compared ?? 0) > 0;
  return !compared || quarantined > 0 || (full?.unreadable ?? 0) > 0;
}

function endedBy({ code, message, about }: Fault): Ended {
  return { code, message, hint: about.hint ?? null, retry_at: about.retryAt ?? null };
}
