import { defined } from '../domain/defined.js';
import { Fault, type FaultCode } from '../domain/fault.js';
import { millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Random } from '../runtime/random.js';
import { isIdle, isOver, timedSince, untilDue, usesWebhooksUntil } from './next-due.js';
import { schedule } from './schedule.js';
import {
  type ManualAsk,
  type Schedule,
  type ScheduleEvent,
  type ScheduleRules,
  type TickEnded,
  unscheduled,
} from './schedule-state.js';
import { type SpacingSeen, spacingSeen } from './spacing-seen.js';
import type { TickAsk, TickResult } from './tick-parts.js';
import type { SlotWish } from './tick-slots.js';
import type { SharedBudget } from './webhook-spacing.js';

export interface LoopParts {
  /** Returns the rules of now: they follow the number of sources. */
  readonly rules: () => ScheduleRules;
  /** Returns what is left of the request quota of the source now. */
  readonly budgets: () => readonly SharedBudget[];
  readonly clock: Clock;
  readonly random: Random;
  /** Waits for a free slot and runs the tick. Returns null when there is nothing left to do. */
  readonly runQueued: (tick: QueuedTick) => Promise<TickResult | null>;
  /** Called when the source begins or ends to use what webhooks may use, until a time on the monotonic clock. */
  readonly onWebhooksUntil: (until: number) => void;
  /** Raises the priority of the queued tick, because it has become urgent. */
  readonly raise: (isManual: boolean) => void;
  /** Takes the queued tick out of the queue: it asks, and finds nothing to do. */
  readonly withdraw: () => void;
  readonly onIdle: () => void;
}

export interface QueuedTick {
  readonly wish: SlotWish;
  /** Called when the tick has a slot. Returns what to do, or null when there is nothing left to do. */
  readonly ask: () => TickAsk | null;
  /** Aborts when the tick should end after the page it writes. */
  readonly signal: () => AbortSignal;
  /** Aborts that signal. */
  readonly cut: () => void;
}

type Waiting = (result: TickResult) => void;

/**
 * Performs what `schedule` decides for one source: each turn runs a tick, or sleeps until one is due or requested. It
 * waits for a tick before it looks for the next. The loop ends with `close`.
 */
export class SourceLoop {
  #state: Schedule = unscheduled;
  /** Resolve the manual requests of the state, in the same order. */
  #waiting: Waiting[] = [];
  /** Resolves when the running tick ends. */
  #running: Promise<void> | null = null;
  /** Ends the running tick after the page it writes. */
  #cut = new AbortController();
  #wake = new Interrupter();
  readonly #ended: Promise<void>;
  /** Whether the next tick is known to read a listing. */
  #lists = false;
  #webhooksUntil = Number.NEGATIVE_INFINITY;
  #lastCode: FaultCode | null = null;

  constructor(readonly parts: LoopParts) {
    this.#ended = this.#run();
  }

  /** Starts the timer. The first tick is due immediately, or after so many milliseconds. */
  start(waitMillis?: number): void {
    this.#handle({ kind: 'started', ...defined({ waitMillis }) });
  }

  /**
   * Makes a timed tick due within so many milliseconds; a negative number says since when it is due. `lists`: it is known
   * to read a listing. `grantWaitMillis`: when its first grant check is due (default: with the first tick).
   */
  dueWithin(
    waitMillis: number,
    { lists, grantWaitMillis }: { readonly lists?: boolean; readonly grantWaitMillis?: number } = {},
  ): void {
    if (lists !== undefined) this.#lists = lists;
    this.#handle({ kind: 'due_within', waitMillis, ...defined({ grantWaitMillis }) });
  }

  /** Leaves the source to another process until `start`. Resolves when no tick is running. */
  async leave(): Promise<void> {
    this.#handle({ kind: 'left' });
    await this.#running;
  }

  /**
   * Starts no tick until `resume`, apart from those that a user requests, and ends the running one after its page. Nudges
   * are kept for the resume. Resolves when no tick is running.
   */
  async pause(): Promise<void> {
    this.#handle({ kind: 'paused' });
    await this.#running;
  }

  /** Continues: a tick is due immediately. */
  resume(): void {
    this.#handle({ kind: 'resumed' });
  }

  databaseIsBack(hasMissed: boolean): void {
    this.#handle({ kind: 'database_back', hasMissed });
  }

  nudge(): void {
    this.#handle({ kind: 'nudged' });
  }

  /** Schedules a tick because the token or grant may have changed. */
  recheck(): void {
    this.#handle({ kind: 'recheck_asked' });
  }

  /** See `Sync.refreshed`. */
  refreshed(): void {
    if (!this.isIll || this.#lastCode === 'reauthorize') this.recheck();
  }

  ask(ask: ManualAsk): Promise<TickResult> {
    if (this.#state.closed) throw new Fault('stopped', 'the source is no longer synced');
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#handle({ kind: 'manual_asked', ask });
    });
  }

  /** Whether its last tick failed or halted it. */
  get isIll(): boolean {
    return this.#state.halted || this.#state.failures > 0;
  }

  /** Whether a tick is running. */
  get busy(): boolean {
    return this.#running !== null;
  }

  /** Whether no tick is running and none is due. */
  get isIdle(): boolean {
    return isIdle(this.#state, this.parts.clock.monotonic(), this.parts.budgets());
  }

  /** Since when a timed tick is due, on the monotonic clock. */
  get timedSince(): number {
    return timedSince(this.#state);
  }

  /** Returns the present spacing of webhook ticks. */
  get spacing(): SpacingSeen {
    return spacingSeen(this.#state, this.parts.clock.monotonic(), this.parts.budgets());
  }

  async close(): Promise<void> {
    this.#handle({ kind: 'closed' });
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!isOver(this.#state)) {
      const wait = untilDue(this.#state, this.parts.clock.monotonic(), this.parts.budgets());
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
    const urgent = this.#handle({ kind: 'due' }).some((effect) => effect.kind === 'enqueue' && effect.urgent);
    const dueAt = urgent ? this.parts.clock.monotonic() : this.timedSince;
    let answered: Waiting[] = [];
    let over = () => {};
    const result = await this.parts.runQueued({
      wish: {
        dueAt,
        urgent,
        lists: this.#lists,
        looks: this.#state.halted && !urgent,
        isManual: this.#state.manual.length > 0,
      },
      ask: () => {
        const run = this.#handle({ kind: 'slot_free' }).find((effect) => effect.kind === 'run');
        if (run === undefined) return null;
        this.#cut = new AbortController();
        if (this.#state.closed) this.#cut.abort();
        answered = this.#waiting;
        this.#waiting = [];
        this.#running = new Promise((resolve) => {
          over = resolve;
        });
        return run.ask;
      },
      signal: () => this.#cut.signal,
      cut: () => this.#cut.abort(),
    });
    this.#running = null;
    over();
    if (result === null) return;
    this.#lists = listsNext(result) ?? this.#lists;
    this.#lastCode = result.report.code;
    this.#handle({ kind: 'ended', end: this.#endOf(result) });
    for (const resolve of answered) resolve(result);
  }

  #endOf({ report, phase, grant }: TickResult): TickEnded {
    const { clock, random } = this.parts;
    const retryInMillis = report.retryAt === null ? null : millisOf(report.retryAt) - clock.now();
    return { report, phase, grant, retryInMillis, chance: random.fraction() };
  }

  /** Returns the effects that only a running turn can perform. */
  #handle(event: ScheduleEvent) {
    const { next, effects } = schedule(this.#state, event, this.parts.clock.monotonic(), this.parts.rules());
    this.#state = next;
    const until = usesWebhooksUntil(next);
    if (until !== this.#webhooksUntil) this.parts.onWebhooksUntil(until);
    this.#webhooksUntil = until;
    for (const { kind } of effects)
      if (kind === 'wake') this.#wake.abort();
      else if (kind === 'raise') this.parts.raise(this.#state.manual.length > 0);
      else if (kind === 'withdraw') this.parts.withdraw();
      else if (kind === 'cut') this.#cut.abort();
    return effects;
  }
}

/** Returns whether the next tick reads a listing, or null when that is unknown. */
function listsNext({ phase }: TickResult): boolean | null {
  if (phase === null) return null;
  const { kind } = phase.kind === 'halted' ? phase.before : phase;
  return kind === 'empty' || kind === 'listing';
}
