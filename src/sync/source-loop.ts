import { millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Random } from '../runtime/random.js';
import type { Trigger } from './ports.js';
import type { TickAsk, TickResult } from './run-tick.js';

/** What a human may ask of one tick. */
export interface ManualAsk {
  readonly resync?: boolean;
  readonly acceptDeletions?: boolean;
}

interface Manual {
  readonly ask: ManualAsk;
  readonly resolve: (result: TickResult) => void;
}

export interface LoopParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalMillis: number;
  /** Waits for a free place, asks `ask` what to do only then, and runs it. */
  readonly inTurn: (urgent: boolean, ask: () => TickAsk) => Promise<TickResult>;
  readonly onRest: () => void;
}

/** A quarter of the interval, up or down, so that sources which started together do not stay together. */
const jitterShare = 0.25;

/** A nudge earns a halted source one look an hour; `decide` holds the same line against any other caller. */
const haltedNudgeMillis = 60 * 60_000;

/** A moment already past, told by a platform whose clock is behind ours, must not make a source spin. */
const retryMillisMin = 1000;

/**
 * When one source ticks. There is never more than one tick of it: this loop waits for each before it looks for
 * the next. Nudges are a flag, not a queue: those that come while a tick waits for its place are covered by it,
 * those that come while it runs mean exactly one more, however many there were.
 *
 * Each turn runs a tick, or sleeps until one is due or something new was asked; it ends with `close`.
 */
export class SourceLoop {
  #nudged = false;
  #manual: Manual[] = [];
  #timed = false;
  #closed = false;
  #ticking = false;
  #halted = false;
  #failures = 0;
  /** Moments on the monotonic clock: a wall clock set back must not make anything wait longer. */
  #timerDue = 0;
  #nudgeDue = 0;
  #firstTrigger: Trigger = 'start';
  #wake = new AbortController();
  readonly #ended: Promise<void>;

  constructor(readonly parts: LoopParts) {
    this.#ended = this.#run();
  }

  /** From now on the timer counts too; the first tick is due at once. */
  start(): void {
    this.#timed = true;
    this.#wake.abort();
  }

  nudge(): void {
    if (this.#nudged) return;
    this.#nudged = true;
    this.#wake.abort();
  }

  ask(ask: ManualAsk): Promise<TickResult> {
    if (this.#closed) throw new Error('the source is no longer kept in step');
    return new Promise((resolve) => {
      this.#manual.push({ ask, resolve });
      this.#wake.abort();
    });
  }

  /** Nothing runs, and nothing is due. */
  get resting(): boolean {
    return !this.#ticking && this.#untilDue() > 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#closed || this.#manual.length > 0) {
      const wait = this.#untilDue();
      if (wait > 0) {
        this.#wake = new AbortController();
        this.parts.onRest();
        await this.parts.clock.wait(wait, this.#wake.signal);
        continue;
      }
      await this.#tick();
    }
    this.parts.onRest();
  }

  async #tick(): Promise<void> {
    this.#ticking = true;
    let asked: Manual[] = [];
    let trigger: Trigger = 'timer';
    const result = await this.parts.inTurn(this.#nudged || this.#manual.length > 0, () => {
      asked = this.#manual;
      trigger = this.#trigger();
      this.#manual = [];
      this.#nudged = false;
      return {
        trigger,
        failures: this.#failures,
        resync: asked.some(({ ask }) => ask.resync === true),
        acceptDeletions: asked.some(({ ask }) => ask.acceptDeletions === true),
      };
    });
    this.#ticking = false;
    this.#firstTrigger = 'timer';
    this.#plan(result, trigger);
    for (const { resolve } of asked) resolve(result);
  }

  #trigger(): Trigger {
    if (this.#manual.length > 0) return 'manual';
    return this.#nudged && this.#firstTrigger !== 'start' ? 'webhook' : this.#firstTrigger;
  }

  #plan({ report, standing }: TickResult, trigger: Trigger): void {
    const { clock, random, intervalMillis } = this.parts;
    const now = clock.monotonic();
    this.#halted = standing?.kind === 'halted';
    this.#failures = report.outcome === 'failed' ? this.#failures + 1 : 0;
    const interval = intervalMillis * (1 + jitterShare * (2 * random.fraction() - 1));
    const wait =
      report.retryAt === null ? interval : Math.max(retryMillisMin, millisOf(report.retryAt) - clock.now());
    this.#timerDue = now + wait;
    // A nudge may draw on a reserve the timer may not, so what made the timer wait need not hold it up; once.
    const reserveLeft =
      report.code === 'rate_limited' && trigger !== 'webhook' && standing?.kind === 'following';
    const blocked = report.outcome !== 'done' && report.retryAt !== null && !reserveLeft;
    this.#nudgeDue = blocked ? this.#timerDue : now;
    if (this.#halted) this.#nudgeDue = now + haltedNudgeMillis;
  }

  /** Milliseconds until the next tick is due; infinite when only something new can make it so. */
  #untilDue(): number {
    if (this.#manual.length > 0) return 0;
    if (this.#closed) return Number.POSITIVE_INFINITY;
    const timer = this.#timed && !this.#halted ? this.#timerDue : Number.POSITIVE_INFINITY;
    const nudge = this.#nudged ? this.#nudgeDue : Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(timer, nudge) - this.parts.clock.monotonic());
  }
}
