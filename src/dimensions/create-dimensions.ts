import { isFault, isStatedWait } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import { touchedBy, touching } from './collections/index.js';
import type { Compared } from './compare-listings.js';
import { Lister } from './lister.js';
import { ListingPlan, type SourceParts } from './listing-plan.js';
import { ListingQueue } from './listing-queue.js';
import { type CollectionName, collectionNames, type DimensionStore, type Names } from './ports.js';

export interface DimensionsParts {
  /** The sources at the start; `add` and `remove` change them. */
  readonly sources: readonly SourceParts[];
  readonly store: DimensionStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Time between two listings without a reason. */
  readonly intervalMillis: number;
  /** Called with the names that are stored: at start, and after each listing. */
  readonly onNames?: (source: SourceName, names: Names) => void;
}

/** When the stored rows were listed. */
export interface Listed {
  /** By collection; one that never was is missing. */
  readonly listedAt: ReadonlyMap<CollectionName, Instant>;
  /** When everything is listed again without a reason, give or take a tenth of the interval. */
  readonly dueAt: Instant;
}

export interface Dimensions extends Closable {
  /** Adds a source. Throws when one of this name exists. */
  add(source: SourceParts): void;
  /** Lists the source no more. Resolves when no listing of it is running. */
  remove(source: SourceName): Promise<void>;
  /** A tick of the source ended. After a complete one, a listing that is due begins. */
  ticked(source: SourceName, isComplete: boolean): void;
  /** Investments of these rounds arrived. A listing is due when one of them is unknown. */
  invested(source: SourceName, rounds: Iterable<string>): void;
  /** An event arrived. Lists what it may have changed, at once if the source is up to date. */
  touched(source: SourceName, event: string): void;
  /**
   * Lists now when the last listing is older than the interval or than an event, or in any case when `forced`. For
   * commands that run once.
   */
  refresh(source: SourceName, forced: boolean): Promise<void>;
  /**
   * Returns how the stored rows differ from what the platform serves now, and how many rows were compared. Writes nothing.
   * Figures that change with every investment are left out. Throws the fault of a listing that did not end.
   */
  compare(source: SourceName): Promise<Compared & Listed>;
  /** Calls the listener after each listing that changed something. Returns a function that removes it. */
  onChanged(listener: (source: SourceName) => void): () => void;
  /** Resolves when no listing is running. */
  idle(): Promise<void>;
}

/** A restarted daemon does not list again what was listed less than this ago. */
const freshMillis = 5 * 60_000;
/** The time that a listing may take: an event that arrived this long before its end may be newer than what it read. */
const listingMillisMax = 60_000;
/** Jitter of a tenth of the interval, up or down, so that sources started together drift apart. */
const jitterShare = 0.1;

/**
 * Keeps companies, rounds, their numbers and posts in step. None of them has a change feed, so each is listed and
 * compared: at start, after events, for an unknown round, and at an interval. A listing starts only after a complete
 * tick of its source, so investments come first. One listing runs at a time (`ListingQueue`).
 */
export function createDimensions(parts: DimensionsParts): Dimensions {
  const { clock, random, logger, store } = parts;
  const plans = new Map<SourceName, ListingPlan>();
  const add = (source: SourceParts): void => {
    if (plans.has(source.name)) throw new Error(`two sources are called ${source.name}`);
    plans.set(source.name, new ListingPlan(source, clock));
  };
  for (const source of parts.sources) add(source);
  const queue = new ListingQueue();
  const onNames = (source: SourceName, names: Names) => parts.onNames?.(source, names);
  const listeners = new Set<(source: SourceName) => void>();
  const onChanged = (source: SourceName) => {
    for (const listener of listeners) listener(source);
  };
  const lister = new Lister({ store, clock, logger, onNames, onChanged });
  /** Reads what is stored of each source, one after the other. No request is sent, so no listing is waited for. */
  let recalls: Promise<void> = Promise.resolve();

  const nextDue = () =>
    clock.monotonic() + parts.intervalMillis * (1 + jitterShare * (2 * random.fraction() - 1));

  /** Lists everything when its time has come, otherwise what was asked for. */
  const list = async (plan: ListingPlan, forced: boolean): Promise<void> => {
    const everything = forced || clock.monotonic() >= plan.dueAt;
    const wanted = collectionNames.filter((collection) => everything || plan.asked.has(collection));
    plan.asked.clear();
    plan.isTouched = false;
    if (everything) plan.dueAt = nextDue();
    const fault = await lister.list(plan, wanted);
    if (fault !== null) postpone(plan, fault);
  };

  const postpone = (plan: ListingPlan, error: unknown) => {
    plan.failed(isFault(error) ? error.about.retryAt : undefined);
    if (isFault(error, 'stopped')) return;
    const fields = isFault(error) ? { code: error.code, hint: error.message } : { error };
    const level = isStatedWait(error) || isFault(error, 'lease_lost') ? 'debug' : 'warn';
    logger[level](
      { source: plan.source.name, waitMs: Math.round(plan.notBefore - clock.monotonic()), ...fields },
      'companies and rounds could not be listed and will be retried',
    );
  };

  const enqueue = (plan: ListingPlan, forced: boolean): Promise<void> => {
    plan.isQueued = true;
    return queue.add(plan, async () => {
      plan.isQueued = false;
      if (plan.removal.aborted) return;
      // The listing that ran while this one was asked for may have postponed it.
      if (forced || plan.isDue) {
        plan.running = list(plan, forced).catch((error: unknown) => {
          plan.dueAt = clock.monotonic();
          postpone(plan, error);
        });
        await plan.running;
      }
      consider(plan);
    });
  };

  /**
   * Lets the next listing rest when everything was listed a moment ago, here or by the previous process, and no event was
   * accepted since for which it may not have been listed any more. Unknown rounds are listed all the same.
   */
  const recall = async (plan: ListingPlan, freshFor: number): Promise<void> => {
    const { listedAt, names } = await store.state(plan.source.name);
    onNames(plan.source.name, names);
    const oldest = oldestOf(listedAt);
    if (oldest === null) return;
    plan.knows([...names.rounds.keys()]);
    const age = clock.now() - oldest;
    if (age < 0 || age >= freshFor) return;
    const touched = await store.touchedAt(touching);
    const mayBeNewer = touched !== null && millisOf(touched) >= oldest - listingMillisMax;
    plan.dueAt = mayBeNewer ? clock.monotonic() : Math.max(clock.monotonic(), nextDue() - age);
    // The previous process may have ended before it listed them.
    if (!mayBeNewer) plan.invested(await store.unlistedRounds(plan.source.name));
  };

  const consider = (plan: ListingPlan): void => {
    if (plan.isQueued || !plan.isUpToDate || plan.removal.aborted) return;
    if (plan.isDue) void enqueue(plan, false);
    else if (plan.asked.size > 0) waitFor(plan);
  };

  /** Something was asked for a moment too early: an event right after a listing, or after a failure. */
  const waitFor = (plan: ListingPlan): void => {
    if (plan.isWaiting) return;
    plan.isWaiting = true;
    void clock.wait(plan.notBefore - clock.monotonic(), plan.removal).then(() => {
      plan.isWaiting = false;
      consider(plan);
    });
  };

  const started = new WeakSet<ListingPlan>();
  const start = (plan: ListingPlan): void => {
    started.add(plan);
    plan.isQueued = true;
    recalls = recalls
      .then(async () => {
        if (plan.removal.aborted) return;
        plan.running = recall(plan, freshMillis).catch((error: unknown) => postpone(plan, error));
        await plan.running;
      })
      .then(() => {
        plan.isQueued = false;
        consider(plan);
      });
  };

  /** Returns when the oldest collection was listed, in milliseconds, as events list some of them; null if one never was. */
  const oldestOf = (listedAt: ReadonlyMap<CollectionName, Instant>): number | null => {
    const times = collectionNames.flatMap((name) => listedAt.get(name) ?? []);
    return times.length < collectionNames.length ? null : Math.min(...times.map(millisOf));
  };

  const dueAfter = (listedAt: ReadonlyMap<CollectionName, Instant>): Instant =>
    instantFromMillis(Math.max(clock.now(), (oldestOf(listedAt) ?? 0) + parts.intervalMillis));

  const planOf = (name: SourceName): ListingPlan | undefined => plans.get(name);

  return {
    add,
    remove: async (source) => {
      const plan = planOf(source);
      if (plan === undefined) return;
      plan.removal.abort();
      await plan.running;
      plans.delete(source);
    },
    ticked: (source, isComplete) => {
      const plan = planOf(source);
      if (plan === undefined) return;
      plan.isUpToDate = isComplete;
      if (!isComplete) return;
      if (started.has(plan)) consider(plan);
      else start(plan);
    },
    invested: (source, rounds) => planOf(source)?.invested(rounds),
    touched: (source, event) => {
      const plan = planOf(source);
      if (plan === undefined) return;
      for (const name of touchedBy(event)) {
        plan.asked.add(name);
        plan.isTouched = true;
      }
      if (plan.asked.size > 0) consider(plan);
    },
    refresh: async (source, forced) => {
      const plan = planOf(source);
      if (plan === undefined) return;
      await recall(plan, parts.intervalMillis);
      await enqueue(plan, forced);
    },
    compare: async (source) => {
      const plan = planOf(source);
      const { listedAt } = await store.state(source);
      const listed = { listedAt, dueAt: dueAfter(listedAt) };
      if (plan === undefined) return { compared: 0, differences: [], ...listed };
      return { ...(await lister.compare(plan)), ...listed };
    },
    onChanged: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    idle: async () => {
      for (let seen: Promise<void> | null = null; seen !== recalls; ) {
        seen = recalls;
        await seen;
        await queue.idle();
      }
    },
    close: async () => {
      for (const plan of plans.values()) plan.removal.abort();
      await recalls;
      await queue.idle();
    },
  };
}
