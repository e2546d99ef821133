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
   * Called when a source has to wait until `until`, because the request quota is used up or because another process reads the
   * source; for that one, only once. If it is given, the run waits and goes on, until the source is read to its end. Otherwise
   * that ends the run.
   */
  onWait?(source: string, until: Instant, why: Wait['why']): void;
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
      ...(paused.get(name) ??
        (await new SourceRun(engine, name, { ...parts, ask, signal, events, following }).end())),
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

interface Wait {
  readonly until: Instant;
  readonly why: 'rate_limited' | 'lease_lost';
}

interface TickWish {
  readonly ask: ManualAsk;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly events: SyncOnceEvents;
  readonly following: SyncProgress;
}

/** The run of one source. */
class SourceRun {
  #idleWaits = 0;
  /** Whether a tick opened the source. One that could not has not begun what was asked for. */
  #isBegun = false;
  #hasWaited = false;
  #isAnnounced = false;

  constructor(
    private readonly engine: Engine,
    private readonly name: SourceName,
    private readonly wish: TickWish,
  ) {}

  /**
   * Runs one tick of a source and, if the run waits, those that finish it. Returns their sum. Waits for the quota without a
   * page between them grow, and the run ends after `idleWaitsMax` of them: a platform may ask for short waits for ever. Another
   * process that reads the source is waited for as long as it takes.
   */
  async end(): Promise<TickResult> {
    const { ask, signal, events } = this.wish;
    let result = await this.#tick(ask);
    // The approval covers the listing that was asked for with it, of which the ticks after a wait do not know.
    let isApproved = ask.resync === true && ask.acceptDeletions === true;
    while (events.onWait !== undefined && !signal.aborted) {
      const wait = waitOf(result);
      if (wait !== null) {
        if (wait.why === 'rate_limited' && this.#idleWaits >= idleWaitsMax) return givenUp(result);
        const next = await this.#afterWait(wait);
        if (next === null) break;
        result = sumOf(result, next);
        continue;
      }
      if (result.report.outcome !== 'done' || !this.#hasWaited || !isApproved) break;
      isApproved = false;
      result = sumOf(result, await this.#tick({ acceptDeletions: true }));
    }
    return result;
  }

  async #tick(ask: ManualAsk): Promise<TickResult> {
    const done = await this.engine.sync.tick(this.name, ask);
    this.#isBegun ||= done.phase !== null;
    const wait = waitOf(done);
    if (wait?.why === 'rate_limited') this.wish.following.waits(this.name, wait.until);
    return done;
  }

  /** Waits, and returns the result of the next tick; null if the run is stopped meanwhile. */
  async #afterWait({ until, why }: Wait): Promise<TickResult | null> {
    const { ask, clock, signal, events, following } = this.wish;
    const isHeld = why === 'lease_lost';
    this.#hasWaited = this.#isBegun;
    const millisMin = isHeld ? waitMillisMin : waitMillisMin * 2 ** this.#idleWaits;
    const waitMillis = Math.max(millisMin, millisOf(until) - clock.now());
    if (!isHeld || !this.#isAnnounced)
      events.onWait?.(this.name, instantFromMillis(clock.now() + waitMillis), why);
    this.#isAnnounced = isHeld;
    events.onProgress?.(() => following.sofar);
    const begun = clock.monotonic();
    await clock.wait(waitMillis, signal);
    following.waited(this.name, clock.monotonic() - begun);
    const paused = await pausedMeanwhile(this.engine, this.name, clock);
    if (signal.aborted) return null;
    if (paused !== undefined) return paused;
    const next = await this.#tick(this.#isBegun ? {} : ask);
    if (!isHeld) this.#idleWaits = next.report.pages > 0 ? 0 : this.#idleWaits + 1;
    return next;
  }
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

/** Returns until when a tick has to wait for requests or for another process that reads the source; null when it does not. */
function waitOf({ report: { code, retryAt } }: TickResult): Wait | null {
  const isWait = code === 'rate_limited' || code === 'lease_lost';
  return isWait && retryAt !== null ? { until: retryAt, why: code } : null;
}

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
