import PQueue from 'p-queue';
import { Fault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { SyncSource } from './ports.js';
import { runTick, type TickAsk, type TickOptions, type TickParts, type TickResult } from './run-tick.js';
import { type ManualAsk, type SpacingSeen, spacingElsewhere } from './schedule.js';
import { SourceLoop } from './source-loop.js';
import { TickLog } from './tick-log.js';
import { isPlenty, type SharedBudget } from './webhook-spacing.js';

export interface SyncOptions extends TickOptions {
  readonly intervalMillis: number;
  /** Upper bound of the interval while webhooks announce every change. */
  readonly idleIntervalMillis: number;
  /** How many sources may tick at the same time. */
  readonly concurrency: number;
}

export interface SyncParts extends Omit<TickParts, 'options'> {
  /** The sources at the start; `add` and `remove` change them. */
  readonly sources: readonly SyncSource[];
  readonly options: SyncOptions;
}

export type TickListener = (source: SourceName, result: TickResult) => void;

/**
 * What names a source does nothing once it was removed, except that `tick` throws: events about it may still arrive.
 */
export interface Sync extends Closable {
  /**
   * Ticks every source now, then on its timer; also those that are added later. Before `start`, sources tick only on
   * `nudge`, `recheck` and `tick`.
   */
  start(): void;
  /** Leaves every source to other processes until `follow`; also those that are added later. */
  leaveAll(): Promise<void>;
  /** Adds a source. Throws when one of this name exists or is still being removed. */
  add(source: SyncSource): void;
  /** Ends the running tick after the page it writes, and starts no more. Resolves when none is running. */
  remove(source: SourceName): Promise<void>;
  /** Starts the timer of one source. Its first tick is due immediately. */
  follow(source: SourceName): void;
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
  /** Runs one tick at a user's request and resolves with its result. Throws `usage` for a source that does not exist. */
  tick(source: SourceName, ask?: ManualAsk): Promise<TickResult>;
  /**
   * The database is reachable again: sources that were waiting for it tick without waiting for the end of their
   * backoff.
   */
  databaseIsBack(): void;
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

const urgentPriority = 1;

/**
 * Keeps sources in sync with the platform. Each source has its own schedule; `concurrency` limits how many tick at
 * once.
 */
export function createSync(parts: SyncParts): Sync {
  const { clock, random, options, logger } = parts;
  const queue = new PQueue({ concurrency: options.concurrency });
  const listeners = new Set<TickListener>();
  const waitingForIdle = new Set<() => void>();
  const followed = new Map<SourceName, Followed>();
  /** What happens to a source that is added. */
  let first: 'waits' | 'starts' | 'leaves' = 'waits';
  let elsewhere: ReadonlySet<SourceName> = new Set();

  const isIdle = () => [...followed.values()].every(({ loop }) => loop.isIdle);
  const onIdle = () => {
    if (waitingForIdle.size === 0 || !isIdle()) return;
    for (const resolve of waitingForIdle) resolve();
    waitingForIdle.clear();
  };

  const runQueued = async (
    source: SyncSource,
    log: SyncParts['logger'],
    ticks: TickLog,
    urgent: boolean,
    ask: () => TickAsk | null,
    cut: () => AbortSignal,
  ): Promise<TickResult | null> => {
    const result = await queue.add(
      async () => {
        const asked = ask();
        return asked === null ? null : await runTick(source, asked, { ...parts, logger: log }, cut());
      },
      // Ticks started by a webhook or by a user run before timed ones.
      { priority: urgent ? urgentPriority : 0, id: source.identity.name },
    );
    if (result === null) return null;
    ticks.ended(result);
    for (const listener of listeners) listener(source.identity.name, result);
    return result;
  };

  /**
   * How many sources share a limit matters only while requests are scarce, so it is not counted while every limit has
   * plenty left.
   */
  const sharedBudgets = (source: SyncSource): readonly SharedBudget[] => {
    const limits = source.limits?.() ?? [];
    if (limits.every(isPlenty)) return limits.map((limit) => ({ ...limit, sharing: 1, elsewhere: 0 }));
    const others = [...followed.values()].filter((other) => other.source !== source);
    const here = others.filter(({ loop }) => loop.usesWebhookTicks);
    // A source that has just been handed over may be reported by two processes; it counts once.
    const away = others.filter(({ source: { identity } }) => elsewhere.has(identity.name));
    const keysHere = here.map(keysOf);
    const keysAway = away.filter((other) => !here.includes(other)).map(keysOf);
    return limits.map((limit) => ({
      ...limit,
      sharing: 1 + keysHere.filter((keys) => keys.has(limit.key)).length,
      // Every process has its own count of its address.
      elsewhere: limit.kind === 'address' ? 0 : keysAway.filter((keys) => keys.has(limit.key)).length,
    }));
  };

  const add = (source: SyncSource): void => {
    const { name } = source.identity;
    if (followed.has(name)) throw new Error(`two sources are called ${name}`);
    const log = logger.child({ source: name });
    const ticks = new TickLog(log, clock);
    const loop = new SourceLoop({
      clock,
      random,
      onIdle,
      intervalMillis: options.intervalMillis,
      idleIntervalMillis: options.idleIntervalMillis,
      runQueued: (urgent, ask, cut) => runQueued(source, log, ticks, urgent, ask, cut),
      raise: () => queue.setPriority(name, urgentPriority),
      budgets: () => sharedBudgets(source),
    });
    followed.set(name, { source, loop });
    if (first === 'starts') loop.start();
    if (first === 'leaves') void loop.leave();
  };
  for (const source of parts.sources) add(source);

  const loopOf = (name: SourceName): SourceLoop | undefined => followed.get(name)?.loop;
  const loops = (): readonly SourceLoop[] => [...followed.values()].map(({ loop }) => loop);

  return {
    start: () => {
      first = 'starts';
      for (const loop of loops()) loop.start();
    },
    leaveAll: async () => {
      first = 'leaves';
      await Promise.all(loops().map((loop) => loop.leave()));
    },
    add,
    remove: async (name) => {
      const loop = loopOf(name);
      await loop?.close();
      if (loopOf(name) === loop) followed.delete(name);
      onIdle();
    },
    follow: (name) => loopOf(name)?.start(),
    leave: async (name) => await loopOf(name)?.leave(),
    pause: async (name) => await loopOf(name)?.pause(),
    resume: (name) => loopOf(name)?.resume(),
    isBusy: (name) => loopOf(name)?.busy === true,
    nudge: (name) => loopOf(name)?.nudge(),
    recheck: (name) => loopOf(name)?.recheck(),
    tick: (name, ask = {}) => {
      const loop = loopOf(name);
      if (loop === undefined) throw new Fault('usage', `no source is called ${name}`);
      return loop.ask(ask);
    },
    spacingOf: (name) => loopOf(name)?.spacing ?? spacingElsewhere,
    spaced: () =>
      [...followed.values()]
        .filter(({ source, loop }) => loop.usesWebhookTicks && source.limits?.().every(isPlenty) === false)
        .map(({ source }) => source.identity.name),
    spacedElsewhere: (names) => {
      elsewhere = new Set(names);
      for (const { source } of followed.values())
        if (elsewhere.has(source.identity.name))
          source
            .refreshLimits?.()
            .catch((error: unknown) =>
              logger.debug(
                { error, source: source.identity.name },
                'what is left of a quota could not be read',
              ),
            );
    },
    databaseIsBack: () => {
      for (const loop of loops()) loop.databaseIsBack();
    },
    onTick: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    idle: () =>
      isIdle() ? Promise.resolve() : new Promise((resolve) => waitingForIdle.add(() => resolve())),
    close: async () => {
      await Promise.all(loops().map((loop) => loop.close()));
    },
  };
}

/** A source, and what runs its ticks. */
interface Followed {
  readonly source: SyncSource;
  readonly loop: SourceLoop;
}

function keysOf({ source }: Followed): ReadonlySet<string> {
  return new Set(source.limits?.().map(({ key }) => key));
}
