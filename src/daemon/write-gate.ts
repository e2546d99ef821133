import { Fault } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Wait } from '../runtime/health-register.js';

/** What the gate is closed for. */
const reasons = {
  rewrite: 'the database file is being rewritten to free its unused space, and ticks wait for it',
  index: 'an index of the database is being built, and ticks wait for it',
  totals: 'totals of a large listing are being written, and ticks wait for each part of them',
} as const;

/** Long enough for a tick that waited to read and write its page. */
const openMillis = 100;

/**
 * Delays this process's own writers while a child process rewrites the file, builds an index or writes totals. SQLite would make them
 * wait as well, but by blocking the event loop.
 */
export class WriteGate {
  #closed: Promise<void> | undefined;
  /** Resolves when all work that was given is done. */
  #given: Promise<void> | undefined;
  #wait: Wait | null = null;
  #waiting = 0;
  /** Whether calls waited when the gate opened last. */
  #hasKept = false;

  /** `beforeOpening` runs whenever the work is done and guarded calls still wait. It must not reject. */
  constructor(
    private readonly clock: Clock,
    private readonly beforeOpening: () => Promise<void> = async () => {},
  ) {}

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** What guarded calls wait for at the moment. */
  get waits(): readonly Wait[] {
    return this.#wait === null ? [] : [this.#wait];
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
      await this.beforeOpening();
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
   * Returns the object with methods that wait for the gate first, except the named ones. They throw `database_busy` after
   * `timeoutMillis`.
   */
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
        return async (...args: unknown[]) => {
          if (this.isClosed) await this.opened(timeoutMillis);
          return Reflect.apply(value, target, args);
        };
      },
    });
  }

  /** Resolves once the gate is open. Throws `database_busy` after `timeoutMillis`. */
  async opened(timeoutMillis: number): Promise<void> {
    const passed = new AbortController();
    const late =
      timeoutMillis === Number.POSITIVE_INFINITY
        ? []
        : [this.clock.wait(timeoutMillis, passed.signal).then(() => 'late' as const)];
    this.#waiting += 1;
    try {
      while (this.#closed !== undefined)
        if ((await Promise.race([this.#closed, ...late])) === 'late')
          throw new Fault('database_busy', 'a child process is writing to the database file');
    } finally {
      this.#waiting -= 1;
      passed.abort();
    }
  }
}
