import { type Engine, type EngineParts, startEngine } from '../daemon/engine.js';
import { finishRun } from '../daemon/finish-run.js';
import { pausedResults } from '../daemon/paused-result.js';
import type { SourceResult } from '../daemon/source-result.js';
import { followOnce } from '../daemon/start-following.js';
import { type Fault, isFault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { ListingLeft } from '../reading/listing-left.js';
import { listingOf } from '../reading/listing-status.js';
import { statusOf } from '../reading/status.js';
import type { Clock } from '../runtime/clock.js';
import type { ManualAsk } from '../sync/schedule-state.js';
import type { TickResult } from '../sync/tick-parts.js';
import { total } from '../sync/total.js';
import { listCatalog } from './list-catalog.js';
import { type SyncedSoFar, SyncProgress } from './sync-progress.js';

export interface SyncedOnce extends SourceResult {
  /** Records of the source in quarantine now, including those of earlier ticks. Null when the mirror cannot say it any more. */
  readonly quarantineOpen: number | null;
  /** Rows of the source that await deletion now, which a person has to accept. Null as above. */
  readonly awaitingDeletion: number | null;
  /** Why names are incomplete; null when they are complete. */
  readonly namesNote: string | null;
  /** How far the listing is that the run did not finish; null when none is in progress. */
  readonly listing: ListingLeft | null;
}

/** What else is reported about a run. */
export interface SyncOnceEvents {
  /**
   * Called for each rule whose installations could not be read. If it is given, the run first reads the installations and also
   * syncs the sources that they add.
   */
  onUnfollowed?(rule: string, error: unknown): void;
  /**
   * Called with a failure after the ticks, such as a backup with erased people that cannot be deleted, or a database that went
   * away. Default: it is thrown, and the results of the ticks are lost.
   */
  onUnfinished?(error: Fault): void;
  /** Called after each page, and before each wait. */
  onProgress?(sofar: () => SyncedSoFar): void;
  /**
   * Called when a source has to wait until `until`, because the request quota is used up. If it is given, the run waits and
   * goes on, until the source is read to its end. Otherwise that ends the run.
   */
  onWait?(source: string, until: Instant): void;
}

/** Runs one tick of each source, as many at once as the configuration allows. */
export async function syncOnce(
  parts: EngineParts,
  ask: ManualAsk,
  signal: AbortSignal,
  events: SyncOnceEvents = {},
): Promise<readonly SyncedOnce[]> {
  let progress: SyncProgress | null = null;
  const engine = await startEngine({
    ...parts,
    onPage: (source, page, isFirst) => {
      progress?.page(source, page, isFirst);
      events.onProgress?.(() => progress?.sofar ?? nothingYet);
    },
    onCount: (source, rows) => progress?.expects(source, rows),
  });
  const stop = () => {
    // Running ticks finish the page they write; their results are still returned below.
    void engine.sync.close();
  };
  try {
    if (events.onUnfollowed !== undefined) {
      if (parts.config.follows.length === 0) await finishErasures(engine, parts);
      else
        for (const [rule, error] of await followOnce(engine, parts, signal)) events.onUnfollowed(rule, error);
    }
    const sources = engine.sources.all;
    const paused = await pausedResults(engine, parts.clock);
    const only = sources.map(({ name }) => name);
    const statusNow = () => statusOf(parts.config.database, parts.clock, null, undefined, { only });
    const before = (await statusNow()).sources;
    const following = new SyncProgress(
      sources.filter(({ name }) => !paused.has(name)),
      before,
      ask.resync === true,
      { ...parts, platform: engine.platform },
    );
    progress = following;
    const ticks = sources.map(async ({ name }) => ({
      source: name,
      ...(paused.get(name) ?? (await ticked(engine, name, { ...parts, ask, signal, events, following }))),
    }));
    // The signal may have fired before: the ticks then end before their first page.
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const results = await Promise.all(ticks);
    const complete = results.filter(({ report }) => report.outcome === 'done').map(({ source }) => source);
    await listCatalog(engine, complete, ask.resync === true, signal);
    const told = new Set<string>();
    const unfinished = (error: unknown) => {
      if (events.onUnfinished === undefined || !isFault(error)) throw error;
      if (!told.has(error.message)) events.onUnfinished(error);
      told.add(error.message);
    };
    await finishRun(engine, parts, { results, mayBlock: true }, signal).catch(unfinished);
    const statuses = (await statusNow().catch(unfinished))?.sources ?? [];
    const listing = statuses.filter(({ listing_started_at }) => listing_started_at !== null);
    const listings = {
      ...{ config: parts.config, listing: listing.map(({ source }) => source), sourcesCount: sources.length },
      ...{ inTurn: listing.length, spacing: null, since: null, now: parts.clock.now() },
    };
    return results.map((result) => {
      const now = statuses.find(({ source }) => source === result.source);
      return {
        ...result,
        quarantineOpen: now?.quarantine_open ?? null,
        awaitingDeletion: now?.awaiting_deletion ?? null,
        namesNote: now?.names_note ?? null,
        listing: now === undefined ? null : listingOf({ ...listings, source: now }),
      };
    });
  } finally {
    signal.removeEventListener('abort', stop);
    await engine.close();
  }
}

const nothingYet: SyncedSoFar = { pages: 0, rows: 0, listing: null };

interface TickWish {
  readonly ask: ManualAsk;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly events: SyncOnceEvents;
  readonly following: SyncProgress;
}

/**
 * Runs one tick of a source and, if the run waits for the quota, those that finish it. Returns their sum. Waits without a
 * page between them grow, and the run ends after `idleWaitsMax` of them: a platform may ask for short waits for ever.
 */
async function ticked(engine: Engine, name: SourceName, wish: TickWish): Promise<TickResult> {
  const { ask, clock, signal, events, following } = wish;
  const tick = async (wanted: ManualAsk) => {
    const done = await engine.sync.tick(name, wanted);
    const until = waitOf(done);
    if (until !== null) following.waits(name, until);
    return done;
  };
  let result = await tick(ask);
  let idleWaits = 0;
  // The approval covers the listing that was asked for with it, of which the ticks after a wait do not know.
  let isApproved = ask.resync === true && ask.acceptDeletions === true;
  let hasWaited = false;
  while (events.onWait !== undefined && !signal.aborted) {
    const until = waitOf(result);
    if (until !== null) {
      if (idleWaits >= idleWaitsMax) return givenUp(result);
      hasWaited = true;
      const waitMillis = Math.max(waitMillisMin * 2 ** idleWaits, millisOf(until) - clock.now());
      events.onWait(name, instantFromMillis(clock.now() + waitMillis));
      events.onProgress?.(() => following.sofar);
      const begun = clock.monotonic();
      await clock.wait(waitMillis, signal);
      following.waited(name, clock.monotonic() - begun);
      const paused = await pausedMeanwhile(engine, name, clock);
      if (signal.aborted) break;
      if (paused !== undefined) return sumOf(result, paused);
      const next = await tick({});
      idleWaits = next.report.pages > 0 ? 0 : idleWaits + 1;
      result = sumOf(result, next);
      continue;
    }
    if (result.report.outcome !== 'done' || !hasWaited || !isApproved) break;
    isApproved = false;
    result = sumOf(result, await tick({ acceptDeletions: true }));
  }
  return result;
}

/** Returns the result of a source that was paused meanwhile. The next tick reports a database that cannot be read. */
async function pausedMeanwhile(
  engine: Engine,
  name: SourceName,
  clock: Clock,
): Promise<TickResult | undefined> {
  try {
    return (await pausedResults(engine, clock)).get(name);
  } catch (error) {
    if (!isFault(error)) throw error;
    return undefined;
  }
}

/** Returns until when a tick has to wait for requests; null when it does not. */
const waitOf = ({ report: { code, retryAt } }: TickResult): Instant | null =>
  code === 'rate_limited' ? retryAt : null;

/** A platform that asks to wait no time at all is not asked again at once. Each wait without a page doubles it. */
const waitMillisMin = 1_000;

/** Together at least 17 minutes; ten hours where each ends with the window of the quota. */
const idleWaitsMax = 10;

const givenUp = ({ report, ...result }: TickResult): TickResult => ({
  ...result,
  report: {
    ...report,
    message: `${report.message ?? report.outcome}; gave up after ${idleWaitsMax} waits in a row without a page`,
  },
});

/** Returns the later result, with what both did. */
function sumOf(one: TickResult, { report, ...later }: TickResult): TickResult {
  const { startedAt, tookMs, pages, applied, mode } = one.report;
  return {
    ...later,
    report: {
      ...report,
      ...{ startedAt, mode: report.mode === 'none' ? mode : report.mode },
      tookMs: tookMs + report.tookMs,
      pages: pages + report.pages,
      applied: total(applied, report.applied),
    },
  };
}

/** Finishes erasures of sources that were interrupted. With follow rules, following them does. */
export async function finishErasures(
  { mirror: { eraser } }: { readonly mirror: Pick<Engine['mirror'], 'eraser'> },
  { logger }: Pick<EngineParts, 'logger'>,
): Promise<void> {
  for (const source of await eraser.unfinished())
    try {
      const { rows } = await eraser.erase(source);
      logger.info({ source, count: rows }, 'a source was erased');
    } catch (error) {
      // The process that has the source, or the next run, erases it.
      if (!isFault(error, 'lease_lost') && !isFault(error, 'database_busy')) throw error;
    }
}
