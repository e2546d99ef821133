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
  /** Asks the platform for the time, without a token. May fail silently. */
  readonly askTime: (signal: Interruption) => Promise<void>;
}

/** Requests that may still be made in the window that ends then. */
export interface Quota {
  readonly limit: number;
  readonly left: number;
  readonly resetsAt: Instant;
}

/**
 * Budgets by key, shared by all sources with the same token. The store is written ahead, a stride at a time: a
 * crash may then count up to nine requests that were never sent, and never forgets one that was.
 */
const stride = 10;

/** A refusal is believed without asking again when the platform told the time this recently. */
const timeIsFreshMillis = 15_000;

/** Each turn somebody else was quicker; so many in a row would mean that nobody can count any more. */
const swapsMax = 50;

interface Held {
  state: BudgetState | null;
  /** What the store knows, or will when `saving` is done. */
  saved: BudgetState | null;
  /** The last write of this key, behind which the next one comes. */
  saving: Promise<void>;
}

export class Budgets {
  readonly #parts: BudgetsParts;
  readonly #held = new Map<string, Promise<Held>>();

  constructor(parts: BudgetsParts) {
    this.#parts = parts;
  }

  /** Takes one request out of the budget, or throws `rate_limited` with the moment the next window starts. */
  async take(key: string, rule: BudgetRule, urgency: Urgency, signal: Interruption): Promise<void> {
    const held = await this.#get(key);
    let answer = await this.#try(key, held, rule, urgency, true);
    if (answer === 'doubtful') {
      // Others with this token do not wait for it: a webhook has a reserve.
      await this.#parts.askTime(signal);
      answer = await this.#try(key, held, rule, urgency, false);
    }
    if (answer !== null && answer !== 'doubtful') throw answer;
  }

  /**
   * Null when the request may go out. Before staying away for an hour on the word of a clock, ours or one remembered,
   * the platform's is asked; neither is a wait over on the word of a clock that was set meanwhile.
   */
  async #try(
    key: string,
    held: Held,
    rule: BudgetRule,
    urgency: Urgency,
    mayDoubt: boolean,
  ): Promise<Fault | 'doubtful' | null> {
    const { time } = this.#parts;
    let answer: Fault | 'doubtful' | null = null;
    await this.#move(key, held, (state, isNew) => {
      const spending = spend(state, rule, time.now(), urgency);
      const isRefused = spending.kind === 'refused';
      // Others may have learned since that the window is another one.
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

  /** After a 429: nothing more goes out under this key for that long. */
  async block(key: string, rule: BudgetRule, waitMillis: number, ranOut: boolean): Promise<void> {
    const held = await this.#get(key);
    await this.#move(key, held, (state) => block(state, rule, this.#parts.time.now(), waitMillis, ranOut));
  }

  /** What is left under this key, for people to see; the moment is on our clock. */
  async quota(key: string, rule: BudgetRule): Promise<Quota> {
    const { time } = this.#parts;
    const { state } = await this.#get(key);
    const { left, resetsAt } = remaining(state, rule, time.now());
    return {
      ...{ limit: rule.limit, left },
      resetsAt: instantFromMillis(time.clock.now() + resetsAt - time.now()),
    };
  }

  /**
   * Alone the state in memory is the newest there is, and the store follows it. Where others count as well what the
   * store holds decides: a move made from an older state is made again from that. `next` answers null to be asked
   * again with the state as it stands there now, which `isNew` tells that it is.
   */
  async #move(
    key: string,
    held: Held,
    next: (state: BudgetState | null, isNew: boolean) => BudgetState | null,
  ): Promise<void> {
    const { swap, load } = this.#parts.store;
    if (swap === undefined) {
      held.state = next(held.state, true);
      await this.#save(key, held);
      return;
    }
    const turn = held.saving.then(async () => {
      let isNew = false;
      for (let swaps = 0; ; swaps += 1) {
        const state = next(held.state, isNew);
        try {
          if (
            state !== null &&
            (state === held.state || (await swap.call(this.#parts.store, key, held.state, state)))
          ) {
            held.state = state;
            return;
          }
          if (swaps >= swapsMax) throw new Error('others count under this key all the time');
          held.state = await load.call(this.#parts.store, key);
          isNew = true;
        } catch (error) {
          // The platform's own 429 is the backstop.
          this.#parts.logger.warn({ error }, 'a request budget could not be shared');
          held.state = state ?? next(held.state, true);
          return;
        }
      }
    });
    held.saving = turn.catch(() => {});
    await turn;
  }

  #get(key: string): Promise<Held> {
    const known = this.#held.get(key);
    if (known !== undefined) return known;
    const loading = this.#load(key);
    this.#held.set(key, loading);
    return loading;
  }

  async #load(key: string): Promise<Held> {
    const state = await this.#parts.store.load(key).catch((error: unknown) => {
      this.#parts.logger.warn({ error }, 'a request budget could not be read, it starts anew');
      return null;
    });
    return { state, saved: state, saving: Promise.resolve() };
  }

  #save(key: string, held: Held): Promise<void> {
    const { state, saved } = held;
    if (state === null || (saved !== null && covers(saved, state))) return held.saving;
    const ahead = { ...state, spent: Math.ceil(state.spent / stride) * stride };
    held.saved = ahead;
    held.saving = held.saving
      .then(() => this.#parts.store.save(key, ahead))
      .catch((error: unknown) => this.#parts.logger.warn({ error }, 'a request budget could not be saved'));
    return held.saving;
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

/** Names a token without being one. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 32);
}
