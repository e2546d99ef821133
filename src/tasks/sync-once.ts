import { type Engine, type EngineParts, startEngine } from '../daemon/engine.js';
import { finishRun } from '../daemon/finish-run.js';
import { pausedResults } from '../daemon/paused-result.js';
import type { SourceResult } from '../daemon/source-result.js';
import { followOnce } from '../daemon/start-following.js';
import { type Fault, isFault } from '../domain/fault.js';
import { statusOf } from '../reading/status.js';
import type { ManualAsk } from '../sync/schedule-state.js';
import { listCatalog } from './list-catalog.js';

export interface SyncedOnce extends SourceResult {
  /** Records of the source in quarantine now, including those of earlier ticks. */
  readonly quarantineOpen: number;
  /** Rows of the source that await deletion now, which a person has to accept. */
  readonly awaitingDeletion: number;
  /** Why names are incomplete; null when they are complete. */
  readonly namesNote: string | null;
}

/** What else is reported about a run. */
export interface SyncOnceEvents {
  /**
   * Called for each rule whose installations could not be read. If it is given, the run first reads the installations and also
   * syncs the sources that they add.
   */
  onUnfollowed?(rule: string, error: unknown): void;
  /** Called with a failure after the ticks, such as a backup with erased people that cannot be deleted. Default: it is thrown. */
  onUnfinished?(error: Fault): void;
  /** Called before sources are listed again because `resync` was asked, with the number of their rows. */
  onRelisting?(rows: number): void;
}

/** Runs one tick of each source, as many at once as the configuration allows. */
export async function syncOnce(
  parts: EngineParts,
  ask: ManualAsk,
  signal: AbortSignal,
  events: SyncOnceEvents = {},
): Promise<readonly SyncedOnce[]> {
  const engine = await startEngine(parts);
  const stop = () => {
    // Running ticks finish the page they write; their results are still returned below.
    void engine.sync.close();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (events.onUnfollowed !== undefined) {
      if (parts.config.follows.length === 0) await finishErasures(engine, parts);
      else
        for (const [rule, error] of await followOnce(engine, parts, signal)) events.onUnfollowed(rule, error);
    }
    const sources = engine.sources.all;
    const paused = await pausedResults(engine, parts.clock);
    const statusNow = () => {
      const only = sources.map(({ name }) => name);
      return statusOf(parts.config.database, parts.clock, null, undefined, { only, ticksMax: 0 });
    };
    if (ask.resync === true && events.onRelisting !== undefined) {
      const listed = (await statusNow()).sources.filter(({ source }) => !paused.has(source));
      events.onRelisting(listed.reduce((sum, { rows }) => sum + rows, 0));
    }
    const ticks = sources.map(async ({ name }) => ({
      source: name,
      ...(paused.get(name) ?? (await engine.sync.tick(name, ask))),
    }));
    // The signal may have fired while the mirror was opened: the ticks then end before their first page.
    if (signal.aborted) stop();
    const results = await Promise.all(ticks);
    const complete = results.filter(({ report }) => report.outcome === 'done').map(({ source }) => source);
    await listCatalog(engine, complete, ask.resync === true, signal);
    await finishRun(engine, parts, { results, mayBlock: true }, signal).catch((error: unknown) => {
      if (events.onUnfinished === undefined || !isFault(error)) throw error;
      events.onUnfinished(error);
    });
    const { sources: statuses } = await statusNow();
    return results.map((result) => {
      const now = statuses.find(({ source }) => source === result.source);
      return {
        ...result,
        quarantineOpen: now?.quarantine_open ?? 0,
        awaitingDeletion: now?.awaiting_deletion ?? 0,
        namesNote: now?.names_note ?? null,
      };
    });
  } finally {
    signal.removeEventListener('abort', stop);
    await engine.close();
  }
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
