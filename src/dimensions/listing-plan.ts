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
/** What an unknown round asks for. */
const ofRounds = ['companies', 'rounds', 'round_stats'] as const;

/** What has to be listed of one source, and when. Lists nothing itself. */
export class ListingPlan {
  readonly cache = new Map<string, RoundRecord>();
  /** What the investments of hidden rounds say of them, read once: it reads all of their investments. */
  readonly labels = new Map<string, RoundLabels>();
  /** What events and unknown rounds ask for. */
  readonly asked = new Set<CollectionName>();
  /** Whether the last tick read the feed to its end. Nothing is listed before one did. */
  isUpToDate = false;
  isQueued = false;
  /** Whether an event asked for a listing that has not begun. */
  isTouched = false;
  /** Resolves when what runs now has ended: a listing, or the preparation of the first one. */
  running: Promise<void> = Promise.resolve();
  /** Ends what waits and lists here, when the source is removed. */
  readonly removal = new Interrupter();
  isWaiting = false;
  /** Monotonic times: when everything is listed again, and before which nothing is listed. */
  dueAt = 0;
  notBefore = 0;
  /** Rounds that need no listing of their own; null before the first tick. */
  #rounds: ReadonlySet<string> | null = null;
  /** Rounds that arrived with investments and were unknown then, with the number of listings since that lack them. */
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

  /** Investments of these rounds arrived. Asks for a listing when one of them is unknown. */
  invested(rounds: Iterable<string>): void {
    for (const round of rounds) {
      if (this.#rounds?.has(round) === true || this.#unknown.has(round)) continue;
      this.#unknown.set(round, 0);
      if (this.#rounds !== null) this.#askForRounds();
    }
  }

  /** These rounds are stored. Asks for another listing when one that arrived is not among them. */
  knows(rounds: readonly string[]): void {
    this.#rounds = new Set(rounds);
    for (const round of rounds) this.#unknown.delete(round);
    if (this.#unknown.size > 0) this.#askForRounds();
  }

  /** A complete listing has these rounds. A round that arrived while it ran may be missing from it. */
  hasListed(rounds: readonly string[]): void {
    for (const [round, listings] of this.#unknown)
      if (listings + 1 < unknownListingsMax) this.#unknown.set(round, listings + 1);
      else this.#unknown.delete(round);
    this.knows(rounds);
  }

  /** A listing that began at this monotonic time was complete. */
  succeeded(startedAt: number): void {
    this.#failures = 0;
    this.#burst = startedAt - this.#endedAt < 2 * spacingMillisMax ? this.#burst + 1 : 0;
    this.#endedAt = this.clock.monotonic();
    this.notBefore = this.#endedAt + spacingAfter(this.#burst);
  }

  /** A listing failed: none begins before a growing wait is over, nor before `retryAt`. */
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
