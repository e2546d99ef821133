import { Fault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { Allowance } from './allowance.js';
import { Crowd, sharesOf } from './crowd.js';
import { listingWait } from './listing-wait.js';
import type { SharedRequests, SyncSource } from './ports.js';
import { runTick } from './run-tick.js';
import { type QueuedTick, SourceLoop } from './source-loop.js';
import { SpacedElsewhere } from './spaced-elsewhere.js';
import { spacingElsewhere } from './spacing-seen.js';
import type { Sync, SyncParts, TickListener } from './sync.js';
import { TickLog } from './tick-log.js';
import type { TickAsk, TickResult } from './tick-parts.js';
import { type RunningTick, type Ticket, TickSlots } from './tick-slots.js';
import { isPlenty, type SharedBudget } from './webhook-spacing.js';
import { WebhookUsers } from './webhook-users.js';

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
    const [running, ticket] = slots.add(
      wish,
      async (slot) => {
        one.ticket = null;
        const asked = ask();
        return asked === null ? null : await tickIn(slot, one, wish, asked, signal());
      },
      cut,
    );
    one.ticket = ticket;
    const result = await running;
    if (result === null) return null;
    one.ticks.ended(result);
    for (const listener of listeners) listener(one.source.identity.name, result);
    return result;
  };

  /** Runs a tick in its slot. A timed one spends its requests from the share of this process. */
  const tickIn = async (
    slot: RunningTick,
    { source, logger }: Followed,
    { looks, lists }: QueuedTick['wish'],
    wanted: TickAsk,
    signal: AbortSignal,
  ): Promise<TickResult> => {
    const spend = (requests: number) => {
      const { timed } = sharesNow();
      if (timed !== null) allowance.spend(clock.monotonic(), timed, requests);
    };
    // Where no names are kept there is no grant to check. Such a tick makes no request for it.
    const asked = source.mayReadIdentity === undefined ? { ...wanted, checkGrant: false } : wanted;
    if (asked.trigger === 'manual') slot.keep();
    const isTimed = (asked.trigger === 'timer' || asked.trigger === 'start') && !looks;
    const checksByRequest = asked.checkGrant === true && source.dropsIdentity !== true;
    if (isTimed && !lists) spend(checksByRequest ? 2 : 1);
    const onPage = (listing: boolean, pages: number) => slot.page(listing, pages);
    const result = await runTick(source, asked, { ...parts, logger, onPage }, signal);
    const { pages, mode } = result.report;
    if (isTimed && mode === 'delta' && pages > 1) spend(pages - 1);
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

  const crowd = new Crowd(parts, sharesNow);
  /** Starts the timers of these sources. */
  const follow = (all: readonly Followed[]): void => {
    for (const { source } of all) here.add(source.identity.name);
    crowd.start(all, here.size);
  };

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
    catchUp: () => crowd.catchUp(loops()),
    leave: async (name) => {
      here.delete(name);
      await loopOf(name)?.leave();
    },
    pause: async (name) => await loopOf(name)?.pause(),
    resume: (name) => loopOf(name)?.resume(),
    isBusy: (name) => loopOf(name)?.busy === true,
    nudge: (name) => loopOf(name)?.nudge(),
    recheck: (name) => loopOf(name)?.recheck(),
    refreshed: (name) => loopOf(name)?.refreshed(),
    secretsReread: (names) =>
      crowd.recheck(
        names.flatMap((name) => loopOf(name) ?? []),
        followed.size,
      ),
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
    databaseIsBack: ({ hasMissed }) => {
      for (const loop of loops()) loop.databaseIsBack(hasMissed);
    },
    onTick: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    idle: () =>
      isIdle() ? Promise.resolve() : new Promise((resolve) => waitingForIdle.add(() => resolve())),
    close: async () => {
      crowd.close();
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
