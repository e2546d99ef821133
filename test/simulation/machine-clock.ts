import type { Clock } from '../../src/runtime/clock.js';
import type { Scheduler } from './scheduler.js';

/**
 * The clock of one process: a wall clock that may be wrong and may jump, and a monotonic one that started with the
 * process.
 */
export class MachineClock implements Clock {
  readonly #waits = new Set<object>();
  readonly #bootedAt: number;
  #dead = false;
  /** The process is stopped until then: timers due meanwhile fire when it continues. */
  suspendedUntil = 0;

  constructor(
    readonly scheduler: Scheduler,
    readonly name: string,
    public wallOffset: number,
  ) {
    this.#bootedAt = scheduler.now;
  }

  now(): number {
    return this.scheduler.now + this.wallOffset;
  }

  monotonic(): number {
    return this.scheduler.now - this.#bootedAt;
  }

  get waiting(): number {
    return this.#waits.size;
  }

  wait(millis: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true || !(millis > 0)) return Promise.resolve();
    return new Promise((resolve) => {
      const wait = {};
      this.#waits.add(wait);
      const end = () => {
        signal?.removeEventListener('abort', end);
        timer?.cancel();
        if (this.#dead || !this.#waits.delete(wait)) return;
        resolve();
      };
      signal?.addEventListener('abort', end, { once: true });
      const wake = () => {
        const left = this.suspendedUntil - this.scheduler.now;
        if (left > 0 && !this.#dead) timer = this.scheduler.in(left, `${this.name} goes on and wakes`, wake);
        else end();
      };
      let timer = Number.isFinite(millis) ? this.scheduler.in(millis, `${this.name} wakes`, wake) : undefined;
    });
  }

  /** Waits on a dead machine never end. */
  kill(): void {
    this.#dead = true;
  }
}
