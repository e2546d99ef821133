import type { SourceName } from '../domain/ids.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { LastTick, SharedRequests, SyncSource } from './ports.js';
import type { ManualAsk } from './schedule-state.js';
import type { SpacingSeen } from './spacing-seen.js';
import type { TickOptions, TickParts, TickResult } from './tick-parts.js';
import type { BudgetLeft } from './webhook-spacing.js';

export interface SyncOptions extends TickOptions {
  readonly intervalMillis: number;
  /** Upper bound of the interval while webhooks announce every change. */
  readonly idleIntervalMillis: number;
  /** How many sources may tick at the same time. */
  readonly concurrency: number;
  /** Returns how so many sources share the requests of an address (default: each has its own limit only). */
  readonly shares?: (sources: number) => SharedRequests;
}

export interface SyncParts extends Omit<TickParts, 'options'> {
  /** The sources at the start; `add` and `remove` change them. */
  readonly sources: readonly SyncSource[];
  /** Reads the last ticks of sources. Called when too many sources are followed to read them all at once. */
  readonly lastTicks?: (sources: readonly SourceName[]) => Promise<ReadonlyMap<SourceName, LastTick>>;
  /** Returns what is left of the limit that all sources share; null while it is not known. */
  readonly addressLeft?: () => BudgetLeft | null;
  readonly options: SyncOptions;
}

export type TickListener = (source: SourceName, result: TickResult) => void;

/**
 * Calls that name a removed source do nothing, because events about it may still arrive. Only `tick` throws.
 */
export interface Sync extends Closable {
  /**
   * Ticks every source now, then on its timer; also those that are added later. Where that would take too many requests
   * of the address, a source is due when its last tick is too old, the oldest first. Before `start`, sources tick only on
   * `nudge`, `recheck` and `tick`.
   */
  start(): void;
  /** Leaves every source to other processes until `follow`; also those that are added later. */
  leaveAll(): Promise<void>;
  /** Adds sources. Throws when one of a name exists or is still being removed. */
  add(sources: readonly SyncSource[]): void;
  /** Ends the running tick after the page it writes, and starts no more. Resolves when none is running. */
  remove(source: SourceName): Promise<void>;
  /** Starts the timers of sources, as `start` does. */
  follow(...sources: readonly SourceName[]): void;
  /** Reads every source that is followed here soon: at once if they are few, else the one read longest ago first. */
  catchUp(): void;
  /**
   * Hands the source to another process until `follow`: timer and nudges no longer start a tick here, only `tick`
   * does. Resolves when no tick of this source is running.
   */
  leave(source: SourceName): Promise<void>;
  /**
   * Starts no tick of this source until `resume`, apart from `tick`, and ends the running one after its page. Nudges are
   * kept. Resolves when no tick of this source is running.
   */
  pause(source: SourceName): Promise<void>;
  resume(source: SourceName): void;
  /** Whether a tick of this source is running. */
  isBusy(source: SourceName): boolean;
  /**
   * Asks for a tick soon, because the platform announced a change. All nudges that arrive during one tick cost a
   * single tick after it.
   */
  nudge(source: SourceName): void;
  /**
   * Asks for a tick because the token or grant may have changed. Runs even for a halted source, and checks the grant
   * again.
   */
  recheck(source: SourceName): void;
  /**
   * The sign-in of this source was refreshed. Rechecks it, unless its last tick failed for another reason than the sign-in: a
   * platform that refuses fresh tokens makes each tick refresh once more, and a recheck after it would go on without end.
   */
  refreshed(source: SourceName): void;
  /**
   * The secrets of these sources were read again. Rechecks all of them if they are few. In a crowd, only halted and failing
   * ones, at the rate of timed ticks: the others use their new tokens when they are due.
   */
  secretsReread(sources: readonly SourceName[]): void;
  /** Runs one tick at a user's request and resolves with its result. Throws `usage` for a source that does not exist. */
  tick(source: SourceName, ask?: ManualAsk): Promise<TickResult>;
  /**
   * The database can be used again: sources that were waiting for it tick without waiting for the end of their backoff. With
   * `hasMissed`, the others tick too, because their changes may not have been announced meanwhile.
   */
  databaseIsBack(how: { readonly hasMissed: boolean }): void;
  /**
   * Calls `listener` after every tick, before the next tick of that source begins. Returns a function that removes
   * the listener.
   */
  onTick(listener: TickListener): () => void;
  /** Returns how ticks that webhooks start are spaced now, and why. */
  spacingOf(source: SourceName): SpacingSeen;
  /** Returns the sources that use webhook ticks now, out of a quota that runs short. */
  spaced(): readonly SourceName[];
  /** Sets the sources of other processes that do so: they get their share of a quota that they have in common. */
  spacedElsewhere(sources: readonly SourceName[]): void;
  /** Resolves when no tick is running and none is due. */
  idle(): Promise<void>;
  /** Finishes the pages being written, ends the running ticks and starts no more. */
  close(): Promise<void>;
}
