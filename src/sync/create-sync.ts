import { Fault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { millisOf } from '../domain/instant.js';
import { Interrupter, type Interruption } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import { Allowance } from './allowance.js';
import type { LastTick, SharedRequests, SyncSource } from './ports.js';
import { runTick } from './run-tick.js';
import { jitterShare } from './schedule.js';
import type { ManualAsk } from './schedule-state.js';
import { type QueuedTick, SourceLoop } from './source-loop.js';
import { SpacedElsewhere } from './spaced-elsewhere.js';
import { type SpacingSeen, spacingElsewhere } from './spacing-seen.js';
import { TickLog } from './tick-log.js';
import type { TickOptions, TickParts, TickResult } from './tick-parts.js';
import { type Ticket, TickSlots } from './tick-slots.js';
import { type BudgetLeft, isPlenty, type SharedBudget } from './webhook-spacing.js';
import { WebhookUsers } from './webhook-users.js';

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
 * What names a source does nothing once it was removed, except that `tick` throws: events about it may still arrive.
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
   * The secrets of these sources were read again. Rechecks all of them if they are few. In a crowd, only halted and failing
   * ones, at the rate of timed ticks: the others use their new tokens when they are due.
   */
  secretsReread(sources: readonly SourceName[]): void;
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

const hourMillis = 60 * 60_000;

/**
 * Keeps sources in sync with the platform. Each source has its own schedule; `concurrency` limits how many tick at
 * once.
 */
export function createSync(parts: SyncParts): Sync {
  const { clock, random, options, logger } = parts;
  const listeners = new Set<TickListener>();
  const waitingForIdle = new Set<() => void>();
  const followed = new Map<SourceName, Followed>();
  /** The sources whose timer runs here. */
  const here = new Set<SourceName>();
  const users = new WebhookUsers();
  const elsewhere = new SpacedElsewhere(logger);
  const allowance = new Allowance();
  /** When webhooks were last found to have been missed, on the wall clock: ticks before that do not count. */
  let behindAt = Number.NEGATIVE_INFINITY;
  let rechecking = new Interrupter();
  /** What happens to a source that is added. */
  let first: 'waits' | 'starts' | 'leaves' = 'waits';

  let shares: { readonly of: number; readonly rules: SharedRequests } | null = null;
  const sharesNow = (): SharedRequests => {
    if (shares?.of !== here.size) shares = { of: here.size, rules: sharesOf(here.size, options) };
    return shares.rules;
  };
  const slots = new TickSlots({
    clock,
    slots: options.concurrency,
    timedWait: () => {
      const { timed } = sharesNow();
      return timed === null ? 0 : allowance.wait(clock.monotonic(), timed);
    },
    listingWait: () => listingWait(sharesNow().timed, parts.addressLeft?.() ?? null),
  });

  let busySince: SourceLoop | null = null;
  const isIdle = () => {
    // Most calls end here, so that waiting for thousands of sources looks at each of them a few times only.
    if (busySince?.isIdle === false) return false;
    busySince = null;
    for (const { loop } of followed.values())
      if (!loop.isIdle) {
        busySince = loop;
        return false;
      }
    return true;
  };
  const onIdle = () => {
    if (waitingForIdle.size === 0 || !isIdle()) return;
    for (const resolve of waitingForIdle) resolve();
    waitingForIdle.clear();
  };

  const runQueued = async (
    one: Followed,
    { wish, ask, signal, cut }: QueuedTick,
  ): Promise<TickResult | null> => {
    const { source, ticks } = one;
    const spend = (requests: number) => {
      const { timed } = sharesNow();
      if (timed !== null) allowance.spend(clock.monotonic(), timed, requests);
    };
    const [running, ticket] = slots.add(
      wish,
      async (slot) => {
        one.ticket = null;
        const asked = ask();
        if (asked === null) return null;
        if (asked.trigger === 'manual') slot.keep();
        const isTimed = (asked.trigger === 'timer' || asked.trigger === 'start') && !wish.looks;
        if (isTimed && !wish.lists) spend(asked.checkGrant === true ? 2 : 1);
        const onPage = (lists: boolean, pages: number) => slot.page(lists, pages);
        const result = await runTick(source, asked, { ...parts, logger: one.logger, onPage }, signal());
        const { pages, mode } = result.report;
        if (isTimed && mode === 'delta' && pages > 1) spend(pages - 1);
        return result;
      },
      cut,
    );
    one.ticket = ticket;
    const result = await running;
    if (result === null) return null;
    ticks.ended(result);
    for (const listener of listeners) listener(source.identity.name, result);
    return result;
  };

  /**
   * How many sources share a limit matters only while requests are scarce, so it is not counted while every limit has
   * plenty left.
   */
  const sharedBudgets = ({ identity: { name }, limits }: SyncSource): readonly SharedBudget[] => {
    const left = limits?.() ?? [];
    if (left.every(isPlenty)) return left.map((limit) => ({ ...limit, sharing: 1, elsewhere: 0 }));
    const now = clock.monotonic();
    return left.map((limit) => {
      const sharing = users.sharing(limit.key, now);
      // Every process has its own count of its address.
      const away = limit.kind === 'address' ? none : elsewhere.sharing(limit.key);
      return {
        ...limit,
        sharing: sharing.size + (sharing.has(name) ? 0 : 1),
        // A source that has just been handed over may be reported by two processes; it counts once.
        elsewhere: [...away].filter((other) => other !== name && !sharing.has(other)).length,
      };
    });
  };

  const create = (source: SyncSource): Followed => {
    const { name } = source.identity;
    if (followed.has(name)) throw new Error(`two sources are called ${name}`);
    const log = logger.child({ source: name });
    const one: Followed = {
      source,
      logger: log,
      ticks: new TickLog(log, clock),
      ticket: null,
      loop: new SourceLoop({
        clock,
        random,
        onIdle,
        rules: sharesNow,
        runQueued: (tick) => runQueued(one, tick),
        raise: (isManual) => one.ticket?.raise(isManual),
        withdraw: () => one.ticket?.withdraw(),
        budgets: () => sharedBudgets(source),
        onWebhooksUntil: (until) => users.use(name, until, source.limits?.().map(({ key }) => key) ?? []),
      }),
    };
    followed.set(name, one);
    return one;
  };

  /** Returns whether so many sources are followed here that their first ticks must not all run at once. */
  const isCrowd = (sources = here.size) => {
    const { timed } = sharesOf(sources, options);
    // A first tick also checks the grant.
    return timed !== null && 2 * sources > timed.atOnce;
  };

  /** Starts the timers of these sources. Their first ticks are due now, or in a crowd when the last ones were too old. */
  const follow = (all: readonly Followed[]): void => {
    for (const { source } of all) here.add(source.identity.name);
    if (!isCrowd()) {
      for (const { loop } of all) loop.start();
      return;
    }
    // Webhooks start ticks meanwhile.
    for (const { loop } of all) loop.start(Number.POSITIVE_INFINITY);
    void recall(all);
  };

  const recall = async (all: readonly Followed[]): Promise<void> => {
    const names = all.map(({ source }) => source.identity.name);
    const last =
      (await parts.lastTicks?.(names).catch((error: unknown) => {
        logger.warn({ error }, 'the last ticks could not be read: every source is due now');
        return null;
      })) ?? null;
    const now = clock.now();
    for (const { source, loop } of all) {
      const seen = last?.get(source.identity.name);
      const age = seen === undefined ? -1 : now - millisOf(seen.endedAt);
      const { intervalMillis, grantMillis } = sharesNow();
      // A source that was not listed completely is due now, and so is one whose tick is dated in the future.
      if (age < 0 || seen?.follows !== true) {
        loop.dueWithin(0, { lists: last !== null && seen?.follows !== true });
        continue;
      }
      const within = intervalMillis * spread(random.fraction()) - age;
      loop.dueWithin(now - age < behindAt ? Math.min(0, within) : within, {
        lists: false,
        // Spread, because each check is a request. A grant that changes is announced and checked at once.
        grantWaitMillis: random.fraction() * grantMillis,
      });
    }
  };
  const recheckSpread = async (all: readonly SourceLoop[], signal: Interruption): Promise<void> => {
    const { timed } = sharesNow();
    for (const [index, loop] of all.entries()) {
      if (timed !== null && index >= timed.atOnce) await clock.wait(hourMillis / timed.perHour, signal);
      if (signal.aborted) return;
      loop.recheck();
    }
  };
  const spread = (chance: number) => 1 + jitterShare * (2 * chance - 1);

  for (const source of parts.sources) create(source);

  const loopOf = (name: SourceName): SourceLoop | undefined => followed.get(name)?.loop;
  const loops = (): readonly SourceLoop[] => [...followed.values()].map(({ loop }) => loop);

  return {
    start: () => {
      first = 'starts';
      follow([...followed.values()]);
    },
    leaveAll: async () => {
      first = 'leaves';
      here.clear();
      await Promise.all(loops().map((loop) => loop.leave()));
    },
    add: (sources) => {
      const all = sources.map(create);
      if (first === 'starts') follow(all);
      if (first === 'leaves') for (const { loop } of all) void loop.leave();
    },
    remove: async (name) => {
      const loop = loopOf(name);
      here.delete(name);
      await loop?.close();
      if (loopOf(name) === loop) followed.delete(name);
      users.remove(name);
      onIdle();
    },
    follow: (...names) => follow(names.flatMap((name) => followed.get(name) ?? [])),
    catchUp: () => {
      if (!isCrowd(followed.size)) {
        for (const loop of loops()) loop.nudge();
        return;
      }
      behindAt = clock.now();
      for (const loop of [...loops()].sort((a, b) => a.timedSince - b.timedSince)) loop.dueWithin(0);
    },
    leave: async (name) => {
      here.delete(name);
      await loopOf(name)?.leave();
    },
    pause: async (name) => await loopOf(name)?.pause(),
    resume: (name) => loopOf(name)?.resume(),
    isBusy: (name) => loopOf(name)?.busy === true,
    nudge: (name) => loopOf(name)?.nudge(),
    recheck: (name) => loopOf(name)?.recheck(),
    secretsReread: (names) => {
      rechecking.abort();
      rechecking = new Interrupter();
      const all = names.flatMap((name) => loopOf(name) ?? []);
      if (!isCrowd(followed.size)) for (const loop of all) loop.recheck();
      else
        void recheckSpread(
          all.filter(({ isIll }) => isIll),
          rechecking,
        );
    },
    tick: (name, ask = {}) => {
      const loop = loopOf(name);
      if (loop === undefined) throw new Fault('usage', `no source is called ${name}`);
      return loop.ask(ask);
    },
    spacingOf: (name) => loopOf(name)?.spacing ?? spacingElsewhere,
    spaced: () =>
      [...users.all(clock.monotonic())].filter((name) => {
        const limits = followed.get(name)?.source.limits?.() ?? [];
        return limits.some((limit) => limit.kind === 'token' && !isPlenty(limit));
      }),
    spacedElsewhere: (names) => elsewhere.set(names.flatMap((name) => followed.get(name)?.source ?? [])),
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
      rechecking.abort();
      await Promise.all(loops().map((loop) => loop.close()));
    },
  };
}

/** A source, and what runs its ticks. */
interface Followed {
  readonly source: SyncSource;
  readonly logger: SyncParts['logger'];
  readonly ticks: TickLog;
  readonly loop: SourceLoop;
  /** The tick that waits for a slot and may become urgent. */
  ticket: Ticket | null;
}

const none: ReadonlySet<SourceName> = new Set();

function sharesOf(sources: number, options: SyncOptions): SharedRequests {
  const { intervalMillis, idleIntervalMillis } = options;
  return (
    options.shares?.(sources) ?? { intervalMillis, idleIntervalMillis, grantMillis: hourMillis, timed: null }
  );
}

/**
 * Returns the milliseconds for which listings wait: while less is left than webhooks and the timed ticks of the rest of the
 * window may need.
 */
export function listingWait(timed: SharedRequests['timed'], address: BudgetLeft | null): number {
  if (timed === null || address === null) return 0;
  const { left, resetsInMillis } = address;
  const free = left - timed.forWebhooks;
  if (free <= 0) return Math.max(0, resetsInMillis);
  // The need shrinks as the window runs out.
  const spareAt = (free / timed.neededPerHour) * hourMillis;
  return Math.max(0, resetsInMillis - spareAt);
}
