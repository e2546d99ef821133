import { createHash } from 'node:crypto';
import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Interruption } from '../runtime/interruption.js';
import type { Logger } from '../runtime/logger.js';
import type { Urgency } from '../sync/ports.js';
import { type BudgetRule, type BudgetState, block, remaining, spend } from './budget.js';
import type { PlatformTime } from './platform-time.js';
import type { BudgetStore } from './ports.js';

export interface BudgetsParts {
  readonly store: BudgetStore;
  readonly time: PlatformTime;
  readonly logger: Logger;
  /** Asks the platform for the time, without a token. Failures are ignored. */
  readonly askTime: (signal: Interruption) => Promise<void>;
}

/** Requests left in the current window. */
export interface Quota {
  readonly limit: number;
  readonly left: number;
  readonly resetsAt: Instant;
}

/**
 * Budgets are keyed by token and shared by all sources that use it. The store is written ahead, `stride` requests at
 * a time: after a crash the count may include up to nine requests that were never sent, but never misses one that
 * was.
 */
const stride = 10;

/** A refusal is final without asking for the time when the platform reported it this recently. */
const timeIsFreshMillis = 15_000;

/** Each turn another process changed the budget first. This many in a row mean that counting does not work at all. */
const swapsMax = 50;

interface Entry {
  state: BudgetState | null;
  /** The state in the store once `saving` is done. */
  saved: BudgetState | null;
  /** The last write of this key; the next one waits for it. */
  saving: Promise<void>;
}

export class Budgets {
  readonly #parts: BudgetsParts;
  readonly #entries = new Map<string, Promise<Entry>>();

  constructor(parts: BudgetsParts) {
    this.#parts = parts;
  }

  /** Takes one request from the budget. Throws `rate_limited` with the start of the next window when none is left. */
  async take(key: string, rule: BudgetRule, urgency: Urgency, signal: Interruption): Promise<void> {
    const entry = await this.#get(key);
    let answer = await this.#try(key, entry, rule, urgency, true);
    if (answer === 'doubtful') {
      // Others with this token do not wait for this request: webhooks have a reserve.
      await this.#parts.askTime(signal);
      answer = await this.#try(key, entry, rule, urgency, false);
    }
    if (answer !== null && answer !== 'doubtful') throw answer;
  }

  /**
   * Returns null when the request may be sent, a `rate_limited` fault when it may not, and `doubtful` when the
   * platform's time should be asked first. Neither an hour's wait nor the end of one is decided on a local clock that
   * may be wrong.
   */
  async #try(
    key: string,
    entry: Entry,
    rule: BudgetRule,
    urgency: Urgency,
    mayDoubt: boolean,
  ): Promise<Fault | 'doubtful' | null> {
    const { time } = this.#parts;
    let answer: Fault | 'doubtful' | null = null;
    await this.#move(key, entry, (state, isNew) => {
      const spending = spend(state, rule, time.now(), urgency);
      const isRefused = spending.kind === 'refused';
      // Another process may have learned meanwhile that a new window began.
      if (isRefused && !isNew) return null;
      const isDoubtful = isRefused
        ? time.sinceObservedMillis > timeIsFreshMillis
        : state?.blockedUntil != null && time.isUnsure;
      if (isDoubtful && mayDoubt) {
        answer = 'doubtful';
        return state;
      }
      answer = isRefused ? spent(rule, time, spending.until) : null;
      return spending.state;
    });
    return answer;
  }

  /** After a 429: blocks every request under this key for `waitMillis`. */
  async block(key: string, rule: BudgetRule, waitMillis: number, ranOut: boolean): Promise<void> {
    const entry = await this.#get(key);
    await this.#move(key, entry, (state) => block(state, rule, this.#parts.time.now(), waitMillis, ranOut));
  }

  /** Returns what is left under this key, for display. `resetsAt` is on our clock. */
  async quota(key: string, rule: BudgetRule): Promise<Quota> {
    const { time } = this.#parts;
    const { state } = await this.#get(key);
    const { left, resetsAt } = remaining(state, rule, time.now());
    return {
      limit: rule.limit,
      left,
      resetsAt: instantFromMillis(time.clock.now() + resetsAt - time.now()),
    };
  }

  /**
   * In a single process the state in memory is the newest, and the store follows it. When several processes share a
   * budget the store decides: `next` is applied to the stored state with compare-and-swap, and reapplied when another
   * process changed it. `next` returns null to be called again with the current stored state and `isNew` set.
   */
  async #move(
    key: string,
    entry: Entry,
    next: (state: BudgetState | null, isNew: boolean) => BudgetState | null,
  ): Promise<void> {
    const { swap, load } = this.#parts.store;
    if (swap === undefined) {
      entry.state = next(entry.state, true);
      await this.#save(key, entry);
      return;
    }
    const turn = entry.saving.then(async () => {
      let isNew = false;
      for (let swaps = 0; ; swaps += 1) {
        const state = next(entry.state, isNew);
        try {
          if (
            state !== null &&
            (state === entry.state || (await swap.call(this.#parts.store, key, entry.state, state)))
          ) {
            entry.state = state;
            return;
          }
          if (swaps >= swapsMax) throw new Error('other processes change this budget all the time');
          entry.state = await load.call(this.#parts.store, key);
          isNew = true;
        } catch (error) {
          // If this fails, the platform's own 429 is the backstop.
          this.#parts.logger.warn({ error }, 'a request budget could not be shared');
          entry.state = state ?? next(entry.state, true);
          return;
        }
      }
    });
    entry.saving = turn.catch(() => {});
    await turn;
  }

  #get(key: string): Promise<Entry> {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const loading = this.#load(key);
    this.#entries.set(key, loading);
    return loading;
  }

  async #load(key: string): Promise<Entry> {
    const state = await this.#parts.store.load(key).catch((error: unknown) => {
      this.#parts.logger.warn({ error }, 'a request budget could not be read and starts over');
      return null;
    });
    return { state, saved: state, saving: Promise.resolve() };
  }

  #save(key: string, entry: Entry): Promise<void> {
    const { state, saved } = entry;
    if (state === null || (saved !== null && covers(saved, state))) return entry.saving;
    const ahead = { ...state, spent: Math.ceil(state.spent / stride) * stride };
    entry.saved = ahead;
    entry.saving = entry.saving
      .then(() => this.#parts.store.save(key, ahead))
      .catch((error: unknown) => this.#parts.logger.warn({ error }, 'a request budget could not be saved'));
    return entry.saving;
  }
}

function spent({ limit }: BudgetRule, time: PlatformTime, until: number): Fault {
  const retryAt = instantFromMillis(time.clock.now() + until - time.now());
  return new Fault('rate_limited', `the budget of ${limit} requests is spent until its window ends`, {
    retryAt,
  });
}

function covers(saved: BudgetState, state: BudgetState): boolean {
  return (
    saved.windowStart === state.windowStart &&
    saved.blockedUntil === state.blockedUntil &&
    saved.spent >= state.spent
  );
}

/** Returns a digest that identifies a token without revealing it. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 32);
}
