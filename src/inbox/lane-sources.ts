import type { SourceName } from '../domain/ids.js';
import { instantFromMillis } from '../domain/instant.js';
import {
  everyLane,
  type Inbox,
  type Lane,
  type Others,
  type Proof,
  sourcesOf,
  type Ticked,
} from './ports.js';

/** How long deliveries wait for a daemon that knows their sources. */
const strangeMillis = 24 * 3_600_000;

export interface LaneSourcesParts {
  readonly inbox: Pick<Inbox, 'proofOf'>;
  /** The sources at the start. Events that an earlier configuration left for other sources belong to none. */
  readonly sources: readonly SourceName[];
  readonly others: Others | undefined;
}

/** Knows which sources of a lane this daemon works, and how far each source was read. */
export class LaneSources {
  readonly #known: Set<SourceName>;
  /** Sources that were removed while this daemon runs: no daemon will work their events. */
  readonly #removed = new Set<SourceName>();
  /** For sources that this daemon works. */
  readonly #lastDone = new Map<SourceName, Proof>();
  /** The source of another daemon that a lane waited for last. */
  #waitedFor: SourceName | null = null;

  constructor(private readonly parts: LaneSourcesParts) {
    this.#known = new Set(parts.sources);
  }

  add(source: SourceName): void {
    this.#known.add(source);
    this.#removed.delete(source);
  }

  remove(source: SourceName): void {
    if (this.#known.delete(source)) this.#removed.add(source);
    this.#lastDone.delete(source);
  }

  /** Returns the known sources of a lane. */
  of(lane: Lane): readonly SourceName[] {
    if (lane === everyLane) return [...this.#known];
    return sourcesOf(lane).filter((source) => this.#known.has(source));
  }

  isHere(source: SourceName): boolean {
    return this.parts.others?.worksHere(source) !== false;
  }

  /** Returns the sources of a lane that this daemon works. */
  here(lane: Lane): readonly SourceName[] {
    return this.of(lane).filter((source) => this.isHere(source));
  }

  /** Returns whether ticks or deliveries of other daemons may count for this lane. */
  isShared(lane: Lane): boolean {
    return this.here(lane).length < this.of(lane).length || this.parts.others?.alone() === false;
  }

  ticked(source: SourceName, tick: Ticked): void {
    this.#lastDone.set(source, tick);
  }

  lastDone(source: SourceName): Proof | undefined {
    return this.#lastDone.get(source);
  }

  /** Returns whether other daemons work sources of this lane: each of their proofs is a query. */
  isSpread(lane: Lane): boolean {
    return this.here(lane).length < this.of(lane).length;
  }

  /**
   * Returns how far each source of the lane was read, or null while this daemon has not read one of its own. Ends with
   * `nothing` at the first proof that is missing or not enough for any event. The proofs of this daemon come first, because they cost nothing, and
   * then that of the source that was waited for last: a lane may have thousands of sources, and each tick asks.
   */
  async proofsOf(
    lane: Lane,
    now: number,
    isNothing: (proof: Proof) => boolean,
  ): Promise<readonly Proof[] | 'nothing' | null> {
    const sources = this.of(lane);
    if (sources.length === 0) return this.#proofsOfUnknown(lane, now);
    const proofs: Proof[] = [];
    const here = new Set(this.here(lane));
    for (const source of here) {
      const proof = this.#lastDone.get(source);
      if (proof === undefined) return null;
      if (isNothing(proof)) return 'nothing';
      proofs.push(proof);
    }
    const waitedFor = this.#waitedFor;
    const elsewhere = sources.filter((source) => !here.has(source));
    for (const source of elsewhere.sort((a, b) => Number(b === waitedFor) - Number(a === waitedFor))) {
      const proof = await this.parts.inbox.proofOf(source);
      if (proof === null || isNothing(proof)) {
        this.#waitedFor = source;
        return 'nothing';
      }
      proofs.push(proof);
    }
    return proofs;
  }

  /**
   * Returns the proofs for a lane without known sources, or null to keep it. Another daemon, perhaps only briefly away,
   * may know its sources, unless they were removed.
   */
  #proofsOfUnknown(lane: Lane, now: number): readonly Proof[] | null {
    const { others } = this.parts;
    if (others === undefined || sourcesOf(lane).every((source) => this.#removed.has(source))) return [];
    const startedAt = instantFromMillis(now - strangeMillis);
    return others.alone() ? [{ startedAt, publishedThrough: null }] : null;
  }
}
