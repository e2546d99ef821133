import type { SourceName } from '../domain/ids.js';
import { type Instant, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { RoundRecord } from './collections/rounds.js';
import type { DimensionSource } from './list-collections.js';
import type { Catalog, CollectionName, RoundLabels } from './ports.js';

export interface SourceParts extends DimensionSource {
  readonly name: SourceName;
  readonly catalog: Catalog;
}

/** Events in quick succession list a source at growing intervals, up to this one. */
const spacingMillisMax = 60_000;
const retryMillisMin = 60_000;
const retryMillisMax = 60 * 60_000;
/** After so many listings without it, an unknown round is given up: its investments were deleted meanwhile. */
const unknownListingsMax = 5;
/** The collections to list when a round is unknown. */
const ofRounds = ['companies', 'rounds', 'round_stats'] as const;

/** Decides which collections of one source to list, and when. Lists nothing itself. */
export class ListingPlan {
  readonly cache = new Map<string, RoundRecord>();
  /** The labels of hidden rounds, from their investments. Read once, because it takes a read of all of these. */
  readonly labels = new Map<string, RoundLabels>();
  /** Collections to list because of an event or an unknown round. */
  readonly asked = new Set<CollectionName>();
  /** Whether the last tick read the feed to its end. Nothing is listed before one did. */
  isUpToDate = false;
  isQueued = false;
  /** Whether an event asked for a listing that has not begun. */
  isTouched = false;
  /** Resolves when the running listing, or the preparation of the first one, has ended. */
  running: Promise<void> = Promise.resolve();
  /** Ends waits and the running listing when the source is removed. */
  readonly removal = new Interrupter();
  isWaiting = false;
  /** Monotonic times: when everything is due to be listed again, and the earliest time of the next listing. */
  dueAt = 0;
  notBefore = 0;
  /** Rounds that need no listing of their own; null before the first tick. */
  #rounds: ReadonlySet<string> | null = null;
  /** Unknown rounds that investments named, with the number of listings since then that lacked them. */
  readonly #unknown = new Map<string, number>();
  #failures = 0;
  /** How many listings followed one another closely, and when the last one ended. */
  #burst = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly source: SourceParts,
    private readonly clock: Clock,
  ) {}

  get isDue(): boolean {
    const now = this.clock.monotonic();
    return now >= this.notBefore && (now >= this.dueAt || this.asked.size > 0);
  }

  /** Call when investments of these rounds arrived. Requests a listing when one of the rounds is unknown. */
  invested(rounds: Iterable<string>): void {
    for (const round of rounds) {
      if (this.#rounds?.has(round) === true || this.#unknown.has(round)) continue;
      this.#unknown.set(round, 0);
      if (this.#rounds !== null) this.#askForRounds();
    }
  }

  /** Call with the stored rounds. Requests another listing when a round that investments named is not among them. */
  knows(rounds: readonly string[]): void {
    this.#rounds = new Set(rounds);
    for (const round of rounds) this.#unknown.delete(round);
    if (this.#unknown.size > 0) this.#askForRounds();
  }

  /** Call with the rounds of a complete listing. It may lack a round that arrived while it ran. */
  hasListed(rounds: readonly string[]): void {
    for (const [round, listings] of this.#unknown)
      if (listings + 1 < unknownListingsMax) this.#unknown.set(round, listings + 1);
      else this.#unknown.delete(round);
    this.knows(rounds);
  }

  /** Call after a complete listing that began at this monotonic time. */
  succeeded(startedAt: number): void {
    this.#failures = 0;
    this.#burst = startedAt - this.#endedAt < 2 * spacingMillisMax ? this.#burst + 1 : 0;
    this.#endedAt = this.clock.monotonic();
    this.notBefore = this.#endedAt + spacingAfter(this.#burst);
  }

  /** Call after a failed listing. The next one begins after a growing wait, and not before `retryAt`. */
  failed(retryAt: Instant | undefined): void {
    this.#failures += 1;
    const growing = Math.min(retryMillisMax, retryMillisMin * 2 ** Math.min(this.#failures - 1, 10));
    const stated = retryAt === undefined ? 0 : millisOf(retryAt) - this.clock.now();
    this.notBefore = this.clock.monotonic() + Math.min(retryMillisMax, Math.max(growing, stated));
  }

  #askForRounds(): void {
    for (const name of ofRounds) this.asked.add(name);
  }
}

const spacingAfter = (burst: number) =>
  burst === 0 ? 0 : Math.min(spacingMillisMax, 2_000 * 2 ** Math.min(burst, 10));
