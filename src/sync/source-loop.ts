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

/** Options of a tick that a user requests. */
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
  /** Upper bound of the interval while webhooks announce every change. */
  readonly idleIntervalMillis: number;
  /**
   * Waits for a free slot, calls `ask` only then to decide what to do, and runs the tick. Returns null when there is
   * nothing left to do.
   */
  readonly runQueued: (urgent: boolean, ask: () => TickAsk | null) => Promise<TickResult | null>;
  /** Raises the priority of the queued tick, because it has become urgent. */
  readonly raise: () => void;
  readonly onIdle: () => void;
}

/** Minimum time between two wake-ups of a healthy source when the database comes back. */
const wokenMillisMin = 15_000;

/** Jitter of a quarter of the interval, up or down, so that sources started together drift apart. */
const jitterShare = 0.25;

/** A webhook earns a halted source one retry an hour. `decide` enforces the same limit for every caller. */
const haltedNudgeMillis = 60 * 60_000;
/**
 * How often a halted source is opened to see whether another process ended its halt. This sends no request to the
 * platform.
 */
const haltedLookMillis = 5 * 60_000;

/**
 * Longest wait that can be legitimate: the hourly quota, or the spacing of listings after a 410. A later retry time
 * came from a clock that is ahead, ours or the platform's.
 */
const retryMillisMax = 4 * 60 * 60_000;
/** A retry time in the past, from a platform whose clock is behind ours, must not make a source spin. */
const retryMillisMin = 1000;

/**
 * Schedules the ticks of one source. At most one tick runs at a time: the loop waits for it before it looks for the
 * next. Nudges are a flag, not a queue: a queued tick covers the nudges that arrive while it waits, and nudges that
 * arrive while it runs cause exactly one more tick, however many there were. When nudges never stop, their ticks are
 * spaced out: see `NudgeSpacing`.
 *
 * Each turn runs a tick, or sleeps until one is due or requested. The loop ends with `close`.
 */
export class SourceLoop {
  #nudged = false;
  #manual: Manual[] = [];
  #timed = false;
  #closed = false;
  /** Another process syncs this source: timer and nudges are ignored, only manual requests run. */
  #elsewhere = false;
  #ticking = false;
  /** Its tick waits in the queue behind urgent ones. */
  #queued = false;
  /** Resolves when the running tick ends. */
  #running: Promise<void> | null = null;
  #halted = false;
  #failures = 0;
  #databaseFailed = false;
  #wokenAt = Number.NEGATIVE_INFINITY;
  /** Times on the monotonic clock: setting the wall clock back must not lengthen a wait. */
  #timerDue = 0;
  #nudgeDue = 0;
  #spacing: NudgeSpacing = quiet;
  #stretch: IdleStretch = watchful;
  #grant: GrantCheck = unchecked;
  /**
   * A failed grant check is retried in a tick of its own. While ticks fail, the timer decides when the next may run.
   */
  #grantRetry = false;
  #recheck = false;
  #firstTrigger: Trigger = 'start';
  /** Position at the end of the last complete tick. Another process may have moved it since. */
  #expected: Position | null = null;
  #wake = new Interrupter();
  readonly #ended: Promise<void>;

  constructor(readonly parts: LoopParts) {
    this.#ended = this.#run();
  }

  /** Starts the timer. The first tick is due immediately. */
  start(): void {
    if (this.#elsewhere) {
      this.#elsewhere = false;
      this.#timerDue = 0;
      this.#firstTrigger = 'start';
    }
    this.#timed = true;
    this.#wake.abort();
  }

  /** Leaves the source to another process until `start`. Resolves when no tick is running. */
  async leave(): Promise<void> {
    this.#elsewhere = true;
    this.#timed = false;
    this.#nudged = false;
    this.#recheck = false;
    this.#wake.abort();
    await this.#running;
  }

  /**
   * The database is back. A source whose last tick failed because of it is due now, not at the end of its backoff.
   * The others may have missed a change unnoticed, so they are due too, but at most every 15 s.
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
    this.#expedite();
  }

  /** Schedules a tick because the token or grant may have changed. */
  recheck(): void {
    if (this.#elsewhere) return;
    this.#recheck = true;
    this.#expedite();
  }

  ask(ask: ManualAsk): Promise<TickResult> {
    if (this.#closed) throw new Error('the source is no longer synced');
    return new Promise((resolve) => {
      this.#manual.push({ ask, resolve });
      this.#expedite();
    });
  }

  /** Wakes the loop. A timed tick that is already queued covers this request too and becomes urgent. */
  #expedite(): void {
    this.#wake.abort();
    if (!this.#queued) return;
    this.#queued = false;
    this.parts.raise();
  }

  /** Whether a tick is running. */
  get busy(): boolean {
    return this.#running !== null;
  }

  /** Whether no tick is running and none is due. */
  get isIdle(): boolean {
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
        this.parts.onIdle();
        await this.parts.clock.wait(wait, this.#wake);
        continue;
      }
      await this.#tick();
    }
    this.parts.onIdle();
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
    const result = await this.parts.runQueued(urgent, () => {
      this.#queued = false;
      // Another process took the source while the tick was queued.
      if (this.#elsewhere && this.#manual.length === 0) return null;
      this.#running = new Promise((resolve) => {
        over = resolve;
      });
      asked = this.#manual;
      trigger = this.#trigger();
      this.#manual = [];
      // A timed look at a halted source sends no request, so the retry that the nudge earned is still due.
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
    const mayRetryGrant = result.report.outcome === 'done' && !(checkGrant && result.grant === 'not_asked');
    this.#grantRetry = mayRetryGrant && this.#grant.failures > 0;
    this.#stretch = afterTick(this.#stretch, result.report, nudged);
    if (nudged || rechecked) this.#spacing = afterNudgedTick(this.#spacing, this.parts.clock.monotonic());
    const reserveLeft = this.#plan(result, trigger);
    // The tick covered the nudge but could not use the webhook reserve. The nudge gets a tick of its own.
    if (nudged && reserveLeft && !this.#elsewhere) this.#nudged = true;
    for (const { resolve } of asked) resolve(result);
  }

  #trigger(): Trigger {
    if (this.#manual.length > 0) return 'manual';
    // As after a start: the cause of a halt may be gone.
    if (this.#recheck) return 'start';
    return this.#nudged && !this.#nudgeWaits && this.#firstTrigger !== 'start'
      ? 'webhook'
      : this.#firstTrigger;
  }

  /** Whether a halted source still waits out the hour before a nudge may retry it. */
  get #nudgeWaits(): boolean {
    return this.#halted && this.parts.clock.monotonic() < this.#nudgeDue;
  }

  /**
   * Schedules the next tick. Returns whether a nudged tick may still have quota from the reserve where this tick had
   * none.
   */
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
    // A nudge may use a reserve that the timer may not, so a timer that ran out of quota does not delay it; once.
    const reserveLeft =
      report.code === 'rate_limited' && trigger !== 'webhook' && standing?.kind === 'following';
    const blocked = report.outcome !== 'done' && report.retryAt !== null && !reserveLeft;
    if (!this.#halted) this.#nudgeDue = blocked ? this.#timerDue : nudgeDueAt(this.#spacing);
    else if (!onlyLooked) this.#nudgeDue = now + haltedNudgeMillis;
    return reserveLeft;
  }

  /** Returns the milliseconds until the next tick is due, or infinity when only a new request can start one. */
  #untilDue(): number {
    if (this.#manual.length > 0) return 0;
    if (this.#closed || this.#elsewhere) return Number.POSITIVE_INFINITY;
    const never = Number.POSITIVE_INFINITY;
    const due = [
      this.#timed ? this.#timerDue : never,
      this.#timed && this.#grantRetry ? this.#grant.dueAt : never,
      this.#nudged ? this.#nudgeDue : never,
      // A recheck ignores the wait for nudges, such as a halt, since its cause may just be gone. Only the spacing
      // applies.
      this.#recheck ? nudgeDueAt(this.#spacing) : never,
    ];
    return Math.max(0, Math.min(...due) - this.parts.clock.monotonic());
  }
}

function endOf({ report, standing }: TickResult): Position | null {
  if (report.outcome !== 'done' || standing?.kind !== 'following') return null;
  return { kind: 'cursor', cursor: standing.cursor };
}
