import { isFault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import { collections, touchedBy, touching } from './collections/index.js';
import type { RoundRecord } from './collections/rounds.js';
import { type Compared, compareListings } from './compare-listings.js';
import { type DimensionSource, listCollections } from './list-collections.js';
import {
  type Catalog,
  type CollectionName,
  collectionNames,
  type DimensionStore,
  type Names,
  type RoundLabels,
} from './ports.js';

export interface SourceParts extends DimensionSource {
  readonly name: SourceName;
  readonly catalog: Catalog;
}

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
  /** Resolves when no listing is running. */
  idle(): Promise<void>;
}

/** A restarted daemon does not list again what was listed less than this ago. */
const freshMillis = 5 * 60_000;
/** The time that a listing may take: an event that arrived this long before its end may be newer than what it read. */
const listingMillisMax = 60_000;
/** Events in quick succession list a source at growing intervals, up to this one. */
const spacingMillisMax = 60_000;
const retryMillisMin = 60_000;
const retryMillisMax = 60 * 60_000;
/** After so many listings without it, an unknown round is given up: its investments were deleted meanwhile. */
const unknownListingsMax = 5;
/** What an unknown round asks for. */
const ofRounds = ['companies', 'rounds', 'round_stats'] as const;
/** Jitter of a tenth of the interval, up or down, so that sources started together drift apart. */
const jitterShare = 0.1;

interface Lane {
  readonly source: SourceParts;
  readonly cache: Map<string, RoundRecord>;
  /** What the investments of hidden rounds say of them, read once: it reads all of their investments. */
  readonly labels: Map<string, RoundLabels>;
  /** Rounds that need no listing of their own; null before the first tick. */
  rounds: ReadonlySet<string> | null;
  /** Rounds that arrived with investments and were unknown then, with the number of listings since that lack them. */
  readonly unknown: Map<string, number>;
  /** What events and unknown rounds ask for. */
  readonly asked: Set<CollectionName>;
  /** Whether the last tick read the feed to its end. Nothing is listed before one did. */
  isUpToDate: boolean;
  isQueued: boolean;
  /** Resolves when what runs now has ended: a listing, or the preparation of the first one. */
  running: Promise<void>;
  /** Ends what the lane waits for and lists, when the source is removed. */
  readonly ended: Interrupter;
  isWaiting: boolean;
  failures: number;
  /** How many listings followed one another closely, and when the last one ended. */
  burst: number;
  endedAt: number;
  /** Monotonic times: when everything is listed again, and before which nothing is listed. */
  dueAt: number;
  notBefore: number;
}

const spacingAfter = (burst: number) =>
  burst === 0 ? 0 : Math.min(spacingMillisMax, 2_000 * 2 ** Math.min(burst, 10));

/**
 * Keeps companies, rounds, their numbers and posts in step. None of them has a change feed, so each is listed and
 * compared: at start, after events, for an unknown round, and at an interval. A listing starts only after a complete
 * tick of its source, so investments come first. One listing runs at a time.
 */
export function createDimensions(parts: DimensionsParts): Dimensions {
  const { clock, random, logger, store } = parts;
  const lanes = new Map<SourceName, Lane>();
  const add = (source: SourceParts): void => {
    if (lanes.has(source.name)) throw new Error(`two sources are called ${source.name}`);
    lanes.set(source.name, {
      source,
      cache: new Map(),
      labels: new Map(),
      rounds: null,
      unknown: new Map(),
      asked: new Set(),
      isUpToDate: false,
      isQueued: false,
      running: Promise.resolve(),
      ended: new Interrupter(),
      isWaiting: false,
      failures: 0,
      burst: 0,
      endedAt: Number.NEGATIVE_INFINITY,
      dueAt: 0,
      notBefore: 0,
    });
  };
  for (const source of parts.sources) add(source);
  let queue: Promise<void> = Promise.resolve();

  const nextDue = () =>
    clock.monotonic() + parts.intervalMillis * (1 + jitterShare * (2 * random.fraction() - 1));

  const isDue = (lane: Lane) => {
    const now = clock.monotonic();
    return now >= lane.notBefore && (now >= lane.dueAt || lane.asked.size > 0);
  };

  /** Lists everything when its time has come, otherwise what was asked for. */
  const list = async (lane: Lane, forced: boolean): Promise<void> => {
    const { name } = lane.source;
    const everything = forced || clock.monotonic() >= lane.dueAt;
    const wanted = collectionNames.filter((collection) => everything || lane.asked.has(collection));
    lane.asked.clear();
    if (wanted.length === 0) return;
    if (everything) lane.dueAt = nextDue();
    const startedAt = clock.monotonic();
    const known = await store.begin(name, wanted, [collections.companies, collections.rounds]);
    const { listings, fault } = await listCollections({
      source: lane.source,
      catalog: lane.source.catalog,
      known,
      wanted: new Set(wanted),
      labelsOf: (round) => labelsOf(lane, round),
      cache: lane.cache,
      clock,
      signal: lane.ended,
    });
    const differences = await store.apply(name, known.attempt, listings);
    if (differences.added + differences.changed + differences.removed > 0)
      parts.onNames?.(name, (await store.state(name)).names);
    const listed = listings.find(({ collection }) => collection.name === 'rounds');
    if (listed?.kind === 'complete') {
      const invested = known.investedRounds.map(({ id }) => id);
      for (const [round, listings] of lane.unknown)
        if (listings + 1 < unknownListingsMax) lane.unknown.set(round, listings + 1);
        else lane.unknown.delete(round);
      knows(lane, [...invested, ...listed.rows.map(({ id }) => String(id))]);
    }
    if (fault === null) {
      lane.failures = 0;
      lane.burst = startedAt - lane.endedAt < 2 * spacingMillisMax ? lane.burst + 1 : 0;
      lane.endedAt = clock.monotonic();
      lane.notBefore = lane.endedAt + spacingAfter(lane.burst);
    } else {
      for (const { kind, collection } of listings) if (kind === 'incomplete') lane.asked.add(collection.name);
      postpone(lane, fault);
    }
    const tookMs = Math.round(clock.monotonic() - startedAt);
    logger[differences.added + differences.changed + differences.removed > 0 ? 'info' : 'debug'](
      { source: name, tookMs, ...differences },
      'companies and rounds were listed',
    );
  };

  const labelsOf = async (lane: Lane, round: string): Promise<RoundLabels> => {
    const labels = lane.labels.get(round) ?? (await store.labelsOf(lane.source.name, round));
    lane.labels.set(round, labels);
    return labels;
  };

  /** If a round arrived while the listing ran and the listing does not contain it, another listing is requested. */
  const knows = (lane: Lane, rounds: readonly string[]) => {
    lane.rounds = new Set(rounds);
    for (const round of rounds) lane.unknown.delete(round);
    if (lane.unknown.size > 0) for (const name of ofRounds) lane.asked.add(name);
  };

  const postpone = (lane: Lane, error: unknown) => {
    lane.failures += 1;
    const growing = Math.min(retryMillisMax, retryMillisMin * 2 ** Math.min(lane.failures - 1, 10));
    const until = isFault(error) ? error.about.retryAt : undefined;
    const stated = until === undefined ? 0 : millisOf(until) - clock.now();
    lane.notBefore = clock.monotonic() + Math.min(retryMillisMax, Math.max(growing, stated));
    if (isFault(error, 'stopped')) return;
    const fields = isFault(error) ? { code: error.code, hint: error.message } : { error };
    const level = isFault(error, 'rate_limited') || isFault(error, 'lease_lost') ? 'debug' : 'warn';
    logger[level](
      { source: lane.source.name, waitMs: Math.round(lane.notBefore - clock.monotonic()), ...fields },
      'companies and rounds could not be listed and will be retried',
    );
  };

  const enqueue = (lane: Lane, forced: boolean): Promise<void> => {
    lane.isQueued = true;
    const run = queue.then(async () => {
      lane.isQueued = false;
      if (lane.ended.aborted) return;
      lane.running = list(lane, forced).catch((error: unknown) => {
        lane.dueAt = clock.monotonic();
        postpone(lane, error);
      });
      await lane.running;
      consider(lane);
    });
    queue = run;
    return run;
  };

  /**
   * Lets the next listing rest when everything was listed a moment ago, here or by the previous process, and no event was
   * accepted since for which it may not have been listed any more.
   */
  const recall = async (lane: Lane, freshFor: number): Promise<void> => {
    const { listedAt, names } = await store.state(lane.source.name);
    parts.onNames?.(lane.source.name, names);
    const times = collectionNames.flatMap((name) => listedAt.get(name) ?? []);
    if (times.length < collectionNames.length) return;
    knows(lane, [...names.rounds.keys()]);
    const oldest = Math.min(...times.map(millisOf));
    const age = clock.now() - oldest;
    if (age < 0 || age >= freshFor) return;
    const touched = await store.touchedAt(touching);
    const mayBeNewer = touched !== null && millisOf(touched) >= oldest - listingMillisMax;
    lane.dueAt = mayBeNewer ? clock.monotonic() : Math.max(clock.monotonic(), nextDue() - age);
  };

  const consider = (lane: Lane): void => {
    if (lane.isQueued || !lane.isUpToDate || lane.ended.aborted) return;
    if (isDue(lane)) void enqueue(lane, false);
    else if (lane.asked.size > 0) waitFor(lane);
  };

  /** Something was asked for a moment too early: an event right after a listing, or after a failure. */
  const waitFor = (lane: Lane): void => {
    if (lane.isWaiting) return;
    lane.isWaiting = true;
    void clock.wait(lane.notBefore - clock.monotonic(), lane.ended).then(() => {
      lane.isWaiting = false;
      consider(lane);
    });
  };

  const started = new WeakSet<Lane>();
  const start = (lane: Lane): void => {
    started.add(lane);
    lane.isQueued = true;
    queue = queue
      .then(async () => {
        if (lane.ended.aborted) return;
        lane.running = recall(lane, freshMillis).catch((error: unknown) => postpone(lane, error));
        await lane.running;
      })
      .then(() => {
        lane.isQueued = false;
        consider(lane);
      });
  };

  /** The oldest collection tells when everything was listed: events list some of them. */
  const dueAfter = (listedAt: ReadonlyMap<CollectionName, Instant>): Instant => {
    const times = collectionNames.map((name) => listedAt.get(name));
    const oldest = times.some((time) => time === undefined)
      ? Number.NEGATIVE_INFINITY
      : Math.min(...times.flatMap((time) => (time === undefined ? [] : [millisOf(time)])));
    return instantFromMillis(Math.max(clock.now(), oldest + parts.intervalMillis));
  };

  const laneOf = (name: SourceName): Lane | undefined => lanes.get(name);

  return {
    add,
    remove: async (source) => {
      const lane = laneOf(source);
      if (lane === undefined) return;
      lane.ended.abort();
      await lane.running;
      if (laneOf(source) === lane) lanes.delete(source);
    },
    ticked: (source, isComplete) => {
      const lane = laneOf(source);
      if (lane === undefined) return;
      lane.isUpToDate = isComplete;
      if (!isComplete) return;
      if (started.has(lane)) consider(lane);
      else start(lane);
    },
    invested: (source, rounds) => {
      const lane = laneOf(source);
      if (lane === undefined) return;
      for (const round of rounds) {
        if (lane.rounds?.has(round) === true || lane.unknown.has(round)) continue;
        lane.unknown.set(round, 0);
        if (lane.rounds !== null) for (const name of ofRounds) lane.asked.add(name);
      }
    },
    touched: (source, event) => {
      const lane = laneOf(source);
      if (lane === undefined) return;
      for (const name of touchedBy(event)) lane.asked.add(name);
      if (lane.asked.size > 0) consider(lane);
    },
    refresh: async (source, forced) => {
      const lane = laneOf(source);
      if (lane === undefined) return;
      await recall(lane, parts.intervalMillis);
      if (forced || isDue(lane)) await enqueue(lane, forced);
    },
    compare: async (source) => {
      const lane = laneOf(source);
      const { listedAt } = await store.state(source);
      const listed = { listedAt, dueAt: dueAfter(listedAt) };
      if (lane === undefined) return { compared: 0, differences: [], ...listed };
      const known = await store.begin(source, [], Object.values(collections));
      const { listings, fault } = await listCollections({
        source: lane.source,
        catalog: lane.source.catalog,
        known,
        wanted: new Set(collectionNames),
        labelsOf: (round) => labelsOf(lane, round),
        cache: new Map(),
        clock,
        signal: lane.ended,
      });
      if (fault !== null) throw fault;
      return { ...compareListings(listings, known), ...listed };
    },
    idle: async () => {
      for (let seen: Promise<void> | null = null; seen !== queue; ) {
        seen = queue;
        await seen;
      }
    },
    close: async () => {
      for (const lane of lanes.values()) lane.ended.abort();
      await queue;
    },
  };
}
