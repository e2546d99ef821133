import { millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Random } from '../runtime/random.js';
import type { TickAsk, TickResult } from './run-tick.js';
import {
  isIdle,
  isOver,
  type ManualAsk,
  type Schedule,
  type ScheduleEvent,
  type ScheduleRules,
  type SpacingSeen,
  schedule,
  spacingSeen,
  type TickEnded,
  unscheduled,
  untilDue,
  usesWebhookTicks,
} from './schedule.js';
import type { SharedBudget } from './webhook-spacing.js';

export interface LoopParts extends ScheduleRules {
  /** Returns what is left of the request quota of the source now. */
  readonly budgets: () => readonly SharedBudget[];
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Waits for a free slot, calls `ask` only then to decide what to do, and runs the tick. Returns null when there is
   * nothing left to do. `cut` ends the tick after the page it writes.
   */
  readonly runQueued: (
    urgent: boolean,
    ask: () => TickAsk | null,
    cut: () => AbortSignal,
  ) => Promise<TickResult | null>;
  /** Raises the priority of the queued tick, because it has become urgent. */
  readonly raise: () => void;
  readonly onIdle: () => void;
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

  constructor(readonly parts: LoopParts) {
    this.#ended = this.#run();
  }

  /** Starts the timer. The first tick is due immediately. */
  start(): void {
    this.#handle({ kind: 'started' });
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

  databaseIsBack(): void {
    this.#handle({ kind: 'database_back' });
  }

  nudge(): void {
    this.#handle({ kind: 'nudged' });
  }

  /** Schedules a tick because the token or grant may have changed. */
  recheck(): void {
    this.#handle({ kind: 'recheck_asked' });
  }

  ask(ask: ManualAsk): Promise<TickResult> {
    if (this.#state.closed) throw new Error('the source is no longer synced');
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#handle({ kind: 'manual_asked', ask });
    });
  }

  /** Whether a tick is running. */
  get busy(): boolean {
    return this.#running !== null;
  }

  /** Whether no tick is running and none is due. */
  get isIdle(): boolean {
    return isIdle(this.#state, this.parts.clock.monotonic(), this.parts.budgets());
  }

  /** Whether the source takes part in what webhooks may use of a shared quota. */
  get usesWebhookTicks(): boolean {
    return usesWebhookTicks(this.#state, this.parts.clock.monotonic());
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
    let answered: Waiting[] = [];
    let over = () => {};
    const result = await this.parts.runQueued(
      urgent,
      () => {
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
      () => this.#cut.signal,
    );
    this.#running = null;
    over();
    if (result === null) return;
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
    const { next, effects } = schedule(this.#state, event, this.parts.clock.monotonic(), this.parts);
    this.#state = next;
    for (const { kind } of effects)
      if (kind === 'wake') this.#wake.abort();
      else if (kind === 'raise') this.parts.raise();
      else if (kind === 'cut') this.#cut.abort();
    return effects;
  }
}
