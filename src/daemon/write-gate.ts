import { setImmediate } from 'node:timers';
import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Wait } from '../runtime/health-register.js';
import { Interrupter } from '../runtime/interruption.js';
import { isOfLock, type WriteLock } from '../store/dialect/sqlite/write-lock.js';

/** What the gate is closed for. */
const reasons = {
  rewrite: 'the database file is being rewritten to free its unused space, and ticks wait for it',
  index: 'an index of the database is being built, and ticks wait for it',
  totals: 'totals of a large listing are being written, and ticks wait for each part of them',
} as const;

const lockedText = 'another program holds the write lock of the database file, and ticks wait for it';

/**
 * A call that has waited so long for another program's lock fails with `database_busy`. A stop waits for some ten calls, one after
 * the other.
 */
const lockMillis = { usual: 2_000, atStop: 250 } as const;

/** The time between two looks at the lock grows from the first to the second. */
const lookMillis = { least: 5, most: 25 } as const;

/**
 * The least time between two reports that the lock is free again. A tick that reads its page and meets the lock once more has spent
 * a request.
 */
const reportMillis = 10_000;

/** Long enough for a tick that waited to read and write its page. */
const openMillis = 100;

/**
 * Delays this process's own writers while a child process rewrites the file, builds an index or writes totals, and while another program
 * holds the write lock. SQLite would make them wait as well, but by blocking the event loop.
 */
export class WriteGate {
  #closed: Promise<void> | undefined;
  /** Resolves when another program has released the lock, or `close` was called. */
  #locked: Promise<void> | undefined;
  #lockedSince: Instant | null = null;
  /** Aborts at the same moment. A promise would keep a part of each call that waited for it in vain. */
  #freed = new Interrupter();
  #lockMillis: number = lockMillis.usual;
  /** Whether calls have failed because of the lock and `onFreed` has not been called since. */
  #hasFailed = false;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #onFreed = () => {};
  readonly #closing = new Interrupter();
  /** Resolves when all work that was given is done. */
  #given: Promise<void> | undefined;
  #wait: Wait | null = null;
  #waiting = 0;
  /** Whether calls waited when the gate opened last. */
  #hasKept = false;
  /** Whether a call has found the gate open in this turn of the event loop. */
  #hasBegun = false;

  /**
   * `beforeOpening` runs whenever the gate is about to open and guarded calls still wait. It must not reject. Without `lock`, calls
   * wait for child processes only.
   */
  constructor(
    private readonly clock: Clock,
    private readonly beforeOpening: () => Promise<void> = async () => {},
    private readonly lock: WriteLock | null = null,
  ) {}

  get isClosed(): boolean {
    return this.#closed !== undefined || this.#locked !== undefined;
  }

  /** What guarded calls wait for at the moment. */
  get waits(): readonly Wait[] {
    const since = this.#lockedSince;
    const locked = since === null ? [] : [{ key: 'lock', text: lockedText, since }];
    return this.#wait === null ? locked : [this.#wait, ...locked];
  }

  /**
   * Runs `work`, while guarded calls wait. Works run one after the other. Calls that waited for one of them have some time
   * before the next one, or works that take turns would keep them waiting until the last one is done.
   */
  async closedFor<Result>(reason: keyof typeof reasons, work: () => Promise<Result>): Promise<Result> {
    const before = this.#given;
    const running =
      before === undefined
        ? this.#closeFor(reason, work)
        : before.then(() => this.#letKept()).then(() => this.#closeFor(reason, work));
    const over = running.then(
      () => {},
      () => {},
    );
    this.#given = over;
    try {
      return await running;
    } finally {
      if (this.#given === over) this.#given = undefined;
    }
  }

  /** The same, and resolves somewhat later if calls were waiting: what they do takes more than one turn. */
  async closedThenOpenFor<Result>(
    reason: keyof typeof reasons,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const result = await this.closedFor(reason, work);
    await this.#letKept();
    return result;
  }

  async #closeFor<Result>(reason: keyof typeof reasons, work: () => Promise<Result>): Promise<Result> {
    let open = () => {};
    this.#closed = new Promise((resolve) => {
      open = resolve;
    });
    this.#wait = { key: reason, text: reasons[reason], since: instantFromMillis(this.clock.now()) };
    try {
      return await work();
    } finally {
      if (this.#locked === undefined) await this.beforeOpening();
      this.#hasKept = this.#waiting > 0;
      this.#closed = undefined;
      this.#wait = null;
      open();
    }
  }

  async #letKept(): Promise<void> {
    if (this.#hasKept) await this.clock.wait(openMillis);
  }

  /**
   * Closes the gate until another program has released the lock. Call it when a write has failed because of that lock. While a child
   * process is at work, the lock may be its own.
   */
  meetLock(): void {
    if (this.lock === null || this.#locked !== undefined || this.#closing.aborted) return;
    this.#lockedSince = instantFromMillis(this.clock.now());
    this.lock.wait(false);
    this.#freed = new Interrupter();
    this.#locked = this.#untilFree(this.lock);
  }

  /**
   * Sets what to call when another program has released a lock for which calls have failed. Parts that back off after such a failure
   * need not wait until their backoff is over. A program that keeps taking the lock causes one call in ten seconds.
   */
  onFreed(listener: () => void): void {
    this.#onFreed = listener;
  }

  /** A stop has begun: calls wait for another program's lock for a moment only. */
  hurry(): void {
    this.#lockMillis = lockMillis.atStop;
  }

  /** Stops to look at the lock and resolves when no look will follow. Call it before the connection is closed. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#locked;
  }

  async #untilFree(lock: WriteLock): Promise<void> {
    for (let pause: number = lookMillis.least; ; pause = Math.min(pause * 2, lookMillis.most)) {
      await this.clock.wait(pause, this.#closing);
      // At once afterwards: a child process that writes as often as this looks would be found writing each time.
      while (this.#closed !== undefined && !this.#closing.aborted) await this.#closed;
      if (this.#closing.aborted) break;
      if (lock.isFree()) {
        await this.beforeOpening();
        break;
      }
    }
    this.#locked = undefined;
    this.#lockedSince = null;
    this.#freed.abort();
    this.#reportFreed();
  }

  #reportFreed(): void {
    const now = this.clock.monotonic();
    if (!this.#hasFailed || this.#closing.aborted || now - this.#reportedAt < reportMillis) return;
    this.#hasFailed = false;
    this.#reportedAt = now;
    this.#onFreed();
  }

  /** Returns the object with methods that pass the gate (see `passing`), except the named ones. */
  guard<Target extends object>(
    target: Target,
    timeoutMillis = Number.POSITIVE_INFINITY,
    except: readonly (keyof Target)[] = [],
  ): Target {
    return new Proxy(target, {
      get: (_, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        if (except.some((name) => name === property)) return value.bind(target);
        return (...args: unknown[]) => this.passing(() => Reflect.apply(value, target, args), timeoutMillis);
      },
    });
  }

  /**
   * Calls `call` once the gate is open. Throws `database_busy` when a child process is at work for `timeoutMillis`. A call that
   * met another program's lock is repeated when the lock is free, unless it began two seconds ago, or a moment ago in a stop: then
   * what it met is thrown. So it must be one transaction, or work that may be repeated from the beginning.
   */
  async passing<Result>(
    call: () => Result | Promise<Result>,
    timeoutMillis = Number.POSITIVE_INFINITY,
  ): Promise<Result> {
    const patience = countdown(this.clock, this.#lockMillis);
    for (;;) {
      // Many calls that wait a moment each, because none of them knows of the lock yet, would block the event loop.
      if (!this.isClosed) this.lock?.wait(this.#isFirstOfTurn());
      else {
        await this.opened(timeoutMillis, patience);
        // Calls that waited for the lock find it again at once, if at all.
        this.lock?.wait(false);
      }
      patience();
      try {
        return await call();
      } catch (error) {
        if (this.lock === null || !isOfLock(error) || this.#closing.aborted) throw error;
        this.meetLock();
        if (patience() > 0) continue;
        this.#hasFailed = true;
        throw error;
      }
    }
  }

  #isFirstOfTurn(): boolean {
    if (this.#hasBegun) return false;
    this.#hasBegun = true;
    setImmediate(() => {
      this.#hasBegun = false;
    });
    return true;
  }

  /**
   * Resolves once the gate is open, and while another program holds the lock when `patience` is at its end. Throws `database_busy`
   * when a child process is at work for `timeoutMillis`.
   */
  async opened(timeoutMillis: number, patience = countdown(this.clock, this.#lockMillis)): Promise<void> {
    const passed = new Interrupter();
    const late =
      timeoutMillis === Number.POSITIVE_INFINITY
        ? []
        : [this.clock.wait(timeoutMillis, passed).then(() => 'late' as const)];
    this.#waiting += 1;
    try {
      while (this.isClosed)
        if (this.#closed !== undefined) {
          if ((await Promise.race([this.#closed, ...late])) === 'late')
            throw new Fault('database_busy', 'a child process is writing to the database file');
        } else {
          const freed = this.#freed;
          await this.clock.wait(patience(), freed);
          if (!freed.aborted) return;
        }
    } finally {
      this.#waiting -= 1;
      passed.abort();
    }
  }
}

/** Returns what is left of so many milliseconds, counted from the first call. */
function countdown(clock: Clock, millis: number): () => number {
  let until: number | undefined;
  return () => {
    until ??= clock.monotonic() + millis;
    return until - clock.monotonic();
  };
}
