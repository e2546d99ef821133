import { millisOf } from '../domain/instant.js';
import type { Position } from '../domain/position.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Random } from '../runtime/random.js';
import { afterCheck, type GrantCheck, unchecked } from './grant-check.js';
import { afterTick, type IdleStretch, stretched, watchful } from './idle-stretch.js';
import { afterNudgedTick, type NudgeSpacing, nudgeDueAt, quiet } from './nudge-spacing.js';
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
  /** What the interval stretches to while webhooks announce everything. */
  readonly idleIntervalMillis: number;
  /** Waits for a free place, asks `ask` what to do only then, and runs it; null when there is nothing to do any more. */
  readonly inTurn: (urgent: boolean, ask: () => TickAsk | null) => Promise<TickResult | null>;
  /** The tick that waits for its place has become urgent. */
  readonly raise: () => void;
  readonly onRest: () => void;
}

/** How often a source whose ticks do not fail is woken because the database was away. */
const wokenMillisMin = 15_000;

/** A quarter of the interval, up or down, so that sources which started together do not stay together. */
const jitterShare = 0.25;

/** A nudge earns a halted source one look an hour; `decide` holds the same line against any other caller. */
const haltedNudgeMillis = 60 * 60_000;
/** How often a halted source is opened to see whether somebody else ended its halt, which asks the platform nothing. */
const haltedLookMillis = 5 * 60_000;

/**
 * No wait is longer: an hour's quota, or the spacing of listings that met a 410. A moment further off was told by a clock
 * that was ahead, ours or the platform's.
 */
const retryMillisMax = 4 * 60 * 60_000;
/** A moment already past, told by a platform whose clock is behind ours, must not make a source spin. */
const retryMillisMin = 1000;

/**
 * When one source ticks. There is never more than one tick of it: this loop waits for each before it looks for
 * the next. Nudges are a flag, not a queue: those that come while a tick waits for its place are covered by it,
 * those that come while it runs mean exactly one more, however many there were. Where they never stop coming,
 * their ticks move apart: see `NudgeSpacing`.
 *
 * Each turn runs a tick, or sleeps until one is due or something new was asked; it ends with `close`.
 */
export class SourceLoop {
  #nudged = false;
  #manual: Manual[] = [];
  #timed = false;
  #closed = false;
  /** Somebody else works the source: neither timer nor nudges count, only what a human asks for. */
  #elsewhere = false;
  #ticking = false;
  /** Its tick waits for a place behind those that are urgent. */
  #queued = false;
  /** Resolves when the tick that runs is over. */
  #running: Promise<void> | null = null;
  #halted = false;
  #failures = 0;
  #databaseFailed = false;
  #wokenAt = Number.NEGATIVE_INFINITY;
  /** Moments on the monotonic clock: a wall clock set back must not make anything wait longer. */
  #timerDue = 0;
  #nudgeDue = 0;
  #spacing: NudgeSpacing = quiet;
  #stretch: IdleStretch = watchful;
  #grant: GrantCheck = unchecked;
  /** A question that failed is put again in a tick of its own; where ticks fail, the timer knows when the next may be. */
  #grantRetry = false;
  #recheck = false;
  #firstTrigger: Trigger = 'start';
  /** Where the last tick left a source that it read to its end; another process may have moved it since. */
  #expected: Position | null = null;
  #wake = new Interrupter();
  readonly #ended: Promise<void>;

  constructor(readonly parts: LoopParts) {
    this.#ended = this.#run();
  }

  /** From now on the timer counts too; the first tick is due at once. */
  start(): void {
    if (this.#elsewhere) {
      this.#elsewhere = false;
      this.#timerDue = 0;
      this.#firstTrigger = 'start';
    }
    this.#timed = true;
    this.#wake.abort();
  }

  /** Somebody else works it from now on, until `start`. Resolves when no tick runs. */
  async leave(): Promise<void> {
    this.#elsewhere = true;
    this.#timed = false;
    this.#nudged = false;
    this.#recheck = false;
    this.#wake.abort();
    await this.#running;
  }

  /**
   * The database is back: a source whose last tick failed because of it is due now, and not when its backoff ends. So
   * are the others, which may have missed a moment that they do not know of, but at most every 15 s.
   */
  databaseIsBack(): void {
    if (!this.#timed || this.#elsewhere || this.#halted) return;
    const now = this.parts.clock.monotonic();
    if (!this.#databaseFailed && now - this.#wokenAt < wokenMillisMin) return;
    this.#wokenAt = now;
    this.#failures = 0;
    this.#timerDue = now;
    this.#nudgeDue = now;
    this.#wake.abort();
  }

  nudge(): void {
    if (this.#nudged || this.#elsewhere) return;
    this.#nudged = true;
    this.#hurry();
  }

  /** Its token or its grant may be another one now. */
  recheck(): void {
    if (this.#elsewhere) return;
    this.#recheck = true;
    this.#hurry();
  }

  ask(ask: ManualAsk): Promise<TickResult> {
    if (this.#closed) throw new Error('the source is no longer kept in step');
    return new Promise((resolve) => {
      this.#manual.push({ ask, resolve });
      this.#hurry();
    });
  }

  /** A tick that waits for its place since the timer asked for it answers this as well, and goes before the timed. */
  #hurry(): void {
    this.#wake.abort();
    if (!this.#queued) return;
    this.#queued = false;
    this.parts.raise();
  }

  /** A tick runs. */
  get busy(): boolean {
    return this.#running !== null;
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
        this.#wake = new Interrupter();
        this.parts.onRest();
        await this.parts.clock.wait(wait, this.#wake);
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
    let nudged = false;
    let checkGrant = false;
    let rechecked = false;
    const urgent = (this.#nudged && !this.#nudgeWaits) || this.#recheck || this.#manual.length > 0;
    this.#queued = !urgent;
    let over = () => {};
    const result = await this.parts.inTurn(urgent, () => {
      this.#queued = false;
      // It went elsewhere while it waited for its place.
      if (this.#elsewhere && this.#manual.length === 0) return null;
      this.#running = new Promise((resolve) => {
        over = resolve;
      });
      asked = this.#manual;
      trigger = this.#trigger();
      this.#manual = [];
      // The look of the timer at a halted source asks nothing: what a nudge earns is still to come.
      nudged = this.#nudged && trigger !== 'timer';
      rechecked = this.#recheck;
      if (rechecked) this.#grant = unchecked;
      checkGrant = this.parts.clock.monotonic() >= this.#grant.dueAt;
      this.#recheck = false;
      this.#nudged &&= !nudged;
      return {
        trigger,
        failures: this.#failures,
        checkGrant,
        expected: this.#expected,
        resync: asked.some(({ ask }) => ask.resync === true),
        acceptDeletions: asked.some(({ ask }) => ask.acceptDeletions === true),
      };
    });
    this.#ticking = false;
    this.#running = null;
    over();
    if (result === null) return;
    this.#firstTrigger = 'timer';
    this.#expected = endOf(result);
    if (checkGrant) this.#grant = afterCheck(this.#grant, result.grant, this.parts.clock.monotonic());
    const asking = result.report.outcome === 'done' && !(checkGrant && result.grant === 'not_asked');
    this.#grantRetry = asking && this.#grant.failures > 0;
    this.#stretch = afterTick(this.#stretch, result.report, nudged);
    if (nudged || rechecked) this.#spacing = afterNudgedTick(this.#spacing, this.parts.clock.monotonic());
    const reserveLeft = this.#plan(result, trigger);
    // It was taken along by a tick that may not draw on what is reserved for it, and is still owed its own.
    if (nudged && reserveLeft && !this.#elsewhere) this.#nudged = true;
    for (const { resolve } of asked) resolve(result);
  }

  #trigger(): Trigger {
    if (this.#manual.length > 0) return 'manual';
    // As after a start: what halted the source may be over.
    if (this.#recheck) return 'start';
    return this.#nudged && !this.#nudgeWaits && this.#firstTrigger !== 'start'
      ? 'webhook'
      : this.#firstTrigger;
  }

  /** Until the hour of a halted source is over. */
  get #nudgeWaits(): boolean {
    return this.#halted && this.parts.clock.monotonic() < this.#nudgeDue;
  }

  /** Answers whether a tick of a nudge may still find requests where this one found none. */
  #plan({ report, standing, grant }: TickResult, trigger: Trigger): boolean {
    const { clock, random, intervalMillis, idleIntervalMillis } = this.parts;
    const now = clock.monotonic();
    const onlyLooked = this.#halted && trigger === 'timer';
    this.#halted = standing?.kind === 'halted';
    this.#failures = report.outcome === 'failed' && !this.#halted ? this.#failures + 1 : 0;
    this.#databaseFailed = report.outcome === 'failed' && report.code?.startsWith('database_') === true;
    const usual = stretched(this.#stretch, intervalMillis, idleIntervalMillis);
    const interval = usual * (1 + jitterShare * (2 * random.fraction() - 1));
    const wait =
      report.retryAt === null
        ? interval
        : Math.min(retryMillisMax, Math.max(retryMillisMin, millisOf(report.retryAt) - clock.now()));
    this.#timerDue = now + (this.#halted ? haltedLookMillis : grant === 'regained' ? 0 : wait);
    // A nudge may draw on a reserve the timer may not, so what made the timer wait need not hold it up; once.
    const reserveLeft =
      report.code === 'rate_limited' && trigger !== 'webhook' && standing?.kind === 'following';
    const blocked = report.outcome !== 'done' && report.retryAt !== null && !reserveLeft;
    if (!this.#halted) this.#nudgeDue = blocked ? this.#timerDue : nudgeDueAt(this.#spacing);
    else if (!onlyLooked) this.#nudgeDue = now + haltedNudgeMillis;
    return reserveLeft;
  }

  /** Milliseconds until the next tick is due; infinite when only something new can make it so. */
  #untilDue(): number {
    if (this.#manual.length > 0) return 0;
    if (this.#closed || this.#elsewhere) return Number.POSITIVE_INFINITY;
    const never = Number.POSITIVE_INFINITY;
    const due = [
      this.#timed ? this.#timerDue : never,
      this.#timed && this.#grantRetry ? this.#grant.dueAt : never,
      this.#nudged ? this.#nudgeDue : never,
      // Whatever holds nudges up, such as a halt, may just be over; announcements that never stop are spaced all the same.
      this.#recheck ? nudgeDueAt(this.#spacing) : never,
    ];
    return Math.max(0, Math.min(...due) - this.parts.clock.monotonic());
  }
}

function endOf({ report, standing }: TickResult): Position | null {
  if (report.outcome !== 'done' || standing?.kind !== 'following') return null;
  return { kind: 'cursor', cursor: standing.cursor };
}
