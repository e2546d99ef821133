import { createHash } from 'node:crypto';
import { defined } from '../domain/defined.js';
import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Interruption } from '../runtime/interruption.js';
import type { Logger } from '../runtime/logger.js';
import type { Urgency } from '../sync/ports.js';
import {
  type BudgetRule,
  type BudgetState,
  block,
  remaining,
  type StoredBudget,
  spend,
  spendAnyway,
} from './budget.js';
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

/** An entry is forgotten after this long without a request: each refresh of a sign-in begins another one. */
const forgetAfterMillis = 24 * 3_600_000;
/** Fewer entries than this are never looked through. */
const entriesMin = 64;

/** Each turn another process changed the budget first. This many in a row mean that counting does not work at all. */
const swapsMax = 50;

/** What is left of one count, on the monotonic clock's scale. */
export interface CountLeft {
  readonly limit: number;
  readonly left: number;
  readonly resetsInMillis: number;
}

/** Returns the count of which the least is left; null without a count. */
export const leastOf = <Count extends CountLeft>(counts: readonly Count[]): Count | null =>
  counts.reduce<Count | null>((least, one) => (least === null || one.left < least.left ? one : least), null);

/** A reset this close to a full window of the epoch is one: `Date` and `retry_after` have whole seconds. */
const phaseToleranceMillis = 3_000;

/**
 * The platform's windows are fixed, but where they begin is not documented: with the first request of a token, or for all
 * tokens at the same time. Each request has to fit into both, so that neither platform ever has to refuse one.
 */
interface Entry extends Counts {
  /** Windows that begin with a request; in a store that is shared, as it is stored. */
  state: StoredBudget | null;
  /** Windows that begin at fixed times. Stored and shared with `state`. */
  fixed: BudgetState | null;
  /** When fixed windows begin: with each hour, until a 429 says otherwise. */
  phase: number;
  /** The state in the store once `saving` is done. */
  saved: StoredBudget | null;
  /** The last write of this key; the next one waits for it. */
  saving: Promise<void>;
  refreshing: boolean;
}

interface Counts {
  readonly state: BudgetState | null;
  readonly fixed: BudgetState | null;
}

/**
 * Computes the new counts from those of the entry. Returns null to be called again with `isNew`, when they are the current
 * stored ones.
 */
type Next = (isNew: boolean) => Counts | null;

export class Budgets {
  readonly #parts: BudgetsParts;
  readonly #entries = new Map<string, Promise<Entry>>();
  readonly #known = new Map<string, Entry>();
  /** The number of entries at which those without requests are looked for. */
  #forgetAt = entriesMin;
  /** Whether the shared store has failed since it last worked. */
  #isUnshared = false;

  constructor(parts: BudgetsParts) {
    this.#parts = parts;
  }

  /** Takes one request from the budget. Throws `rate_limited` with the start of the next window when none is left. */
  async take(key: string, rule: BudgetRule, urgency: Urgency, signal: Interruption): Promise<void> {
    const entry = await this.#get(key, rule);
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
    await this.#move(key, entry, rule, (isNew) => {
      const { state } = entry;
      const now = time.now();
      const spending = spend(state, rule, now, urgency);
      const fixed = spend(entry.fixed, fixedRule(rule, entry), now, urgency);
      const isRefused = spending.kind === 'refused' || fixed.kind === 'refused';
      // Another process may have learned meanwhile that a new window began.
      if (isRefused && !isNew) return null;
      const isDoubtful = isRefused
        ? time.sinceObservedMillis > timeIsFreshMillis
        : state?.blockedUntil != null && time.isUnsure;
      if (isDoubtful && mayDoubt) {
        answer = 'doubtful';
        return entry;
      }
      if (isRefused) {
        const untils = [spending, fixed].map((one) => (one.kind === 'refused' ? one.until : now));
        answer = spent(rule, time, Math.max(...untils));
        // What the other count granted is not sent.
        return {
          state: spending.kind === 'refused' ? spending.state : state,
          fixed: fixed.kind === 'refused' ? fixed.state : entry.fixed,
        };
      }
      answer = null;
      return { state: spending.state, fixed: fixed.state };
    });
    return answer;
  }

  /** After a 429: blocks every request under this key for `waitMillis`. */
  async block(key: string, rule: BudgetRule, waitMillis: number, ranOut: boolean): Promise<void> {
    const entry = await this.#get(key, rule);
    const now = this.#parts.time.now();
    const fixed = ranOut ? { ...block(null, rule, now, waitMillis, true), blockedUntil: null } : null;
    if (ranOut) {
      const resetsAt = now + Math.min(waitMillis, rule.windowMillis);
      const apart = resetsAt - Math.round(resetsAt / rule.windowMillis) * rule.windowMillis;
      entry.phase = Math.abs(apart) <= phaseToleranceMillis ? 0 : apart;
    }
    await this.#move(key, entry, rule, () => ({
      state: block(entry.state, rule, now, waitMillis, ranOut),
      fixed: fixed ?? entry.fixed,
    }));
  }

  /** Returns what is left under this key, for display. `resetsAt` is on our clock. */
  async quota(key: string, rule: BudgetRule): Promise<Quota> {
    await this.#get(key, rule);
    const least = leastOf(this.left(key, rule));
    if (least === null) throw new Error('a budget that was just loaded is known');
    const resetsAt = instantFromMillis(this.#parts.time.clock.now() + least.resetsInMillis);
    return { limit: rule.limit, left: least.left, resetsAt };
  }

  /** Returns what is left of each count under this key; nothing before its first request. */
  left(key: string, rule: BudgetRule): readonly CountLeft[] {
    const entry = this.#known.get(key);
    if (entry === undefined) return [];
    const now = this.#parts.time.now();
    const counts = [remaining(entry.state, rule, now), remaining(entry.fixed, fixedRule(rule, entry), now)];
    return counts.map(({ left, resetsAt }) => ({ limit: rule.limit, left, resetsInMillis: resetsAt - now }));
  }

  /**
   * In a single process the state in memory is the newest, and the store follows it. When several processes share a
   * budget the store decides: `next` is applied to the stored state with compare-and-swap, and reapplied when another
   * process changed it.
   */
  async #move(key: string, entry: Entry, rule: BudgetRule, next: Next): Promise<void> {
    if (this.#parts.store.swap === undefined) {
      const counts = next(true) ?? entry;
      if (isSame(counts, entry)) return;
      Object.assign(entry, countsOf(counts));
      await this.#save(key, entry);
      return;
    }
    const turn = entry.saving.then(() => this.#moveShared(key, entry, rule, next));
    entry.saving = turn.catch(() => {});
    await turn;
  }

  async #moveShared(key: string, entry: Entry, rule: BudgetRule, next: Next): Promise<void> {
    let isNew = false;
    for (let swaps = 0; ; swaps += 1) {
      const counts = next(isNew);
      try {
        if (counts !== null && (await this.#swap(key, entry, counts))) return;
        if (swaps >= swapsMax) throw new Error('other processes change this budget all the time');
        this.#adopt(entry, rule, await this.#parts.store.load(key));
        isNew = true;
      } catch (error) {
        // If this fails, the platform's own 429 is the backstop. Until the store works, one warning is enough.
        this.#parts.logger[this.#isUnshared ? 'debug' : 'warn'](
          { error },
          'a request budget could not be shared',
        );
        this.#isUnshared = true;
        Object.assign(entry, countsOf(counts ?? next(true) ?? entry));
        return;
      }
    }
  }

  /** Stores the counts. Returns false when another process has changed the stored ones. */
  async #swap(key: string, entry: Entry, counts: Counts): Promise<boolean> {
    if (counts.state === null || isSame(counts, entry)) return true;
    const state = stored(counts.state, counts.fixed);
    const isSwapped = await this.#parts.store.swap?.(key, entry.state, state);
    this.#isUnshared = false;
    if (isSwapped !== true) return false;
    entry.state = { ...state, ...defined({ late: counts.state.late }) };
    entry.fixed = counts.fixed;
    return true;
  }

  /**
   * Reads what is left of a shared budget again, if this process uses it: others may have spent from it. Does nothing
   * while this process is reading or changing it anyway.
   */
  async refresh(key: string, rule: BudgetRule): Promise<void> {
    const entry = this.#known.get(key);
    const { swap, load } = this.#parts.store;
    if (entry === undefined || swap === undefined || entry.refreshing) return;
    entry.refreshing = true;
    const turn = entry.saving
      .then(() => load.call(this.#parts.store, key))
      .then((found) => this.#adopt(entry, rule, found))
      .finally(() => {
        entry.refreshing = false;
      });
    entry.saving = turn.catch(() => {});
    await turn;
  }

  /** Replaces the counts by those that another process stored. */
  #adopt(entry: Entry, rule: BudgetRule, found: StoredBudget | null): void {
    const others = sentByOthers(entry.state, found);
    // A process whose clock is a little behind may still be in the window before.
    const isOlder = (found?.fixed?.windowStart ?? 0) < (entry.fixed?.windowStart ?? 0);
    if (found?.fixed != null && (!isOlder || found.blockedUntil !== null))
      entry.fixed = { ...found.fixed, blockedUntil: null };
    else if (others > 0)
      entry.fixed = spendAnyway(entry.fixed, fixedRule(rule, entry), this.#parts.time.now(), others);
    entry.state = found;
  }

  #get(key: string, rule: BudgetRule): Promise<Entry> {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= this.#forgetAt) this.#forgetIdle();
    const loading = this.#load(key, rule);
    this.#entries.set(key, loading);
    return loading;
  }

  /** Forgets entries without a request for a day. Their counts are in the store, and their windows are long over. */
  #forgetIdle(): void {
    const before = this.#parts.time.now() - forgetAfterMillis;
    const isIdle = (one: BudgetState | null) =>
      one === null || (one.windowStart < before && (one.blockedUntil ?? 0) < before);
    for (const [key, { state, fixed, refreshing }] of this.#known) {
      if (refreshing || state === null || !isIdle(state) || !isIdle(fixed)) continue;
      this.#known.delete(key);
      this.#entries.delete(key);
    }
    this.#forgetAt = Math.max(entriesMin, 2 * this.#known.size);
  }

  async #load(key: string, rule: BudgetRule): Promise<Entry> {
    const state = await this.#parts.store.load(key).catch((error: unknown) => {
      this.#parts.logger.warn({ error }, 'a request budget could not be read and starts over');
      return null;
    });
    const phase = 0;
    const fixed = state === null ? null : fixedOf(state, { ...rule, phase }, this.#parts.time.now());
    const entry = { state, fixed, phase, saved: state, saving: Promise.resolve(), refreshing: false };
    this.#known.set(key, entry);
    return entry;
  }

  #save(key: string, entry: Entry): Promise<void> {
    const { state, fixed, saved } = entry;
    if (state === null || (saved !== null && covers(saved, state, fixed))) return entry.saving;
    const spent = Math.ceil(state.spent / stride) * stride;
    const more = spent - state.spent;
    const ahead = stored({ ...state, spent }, fixed && { ...fixed, spent: fixed.spent + more });
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

function fixedRule(rule: BudgetRule, { phase }: Pick<Entry, 'phase'>): BudgetRule {
  return { ...rule, phase };
}

function isSame(one: Counts, other: Counts): boolean {
  return one.state === other.state && one.fixed === other.fixed;
}

function countsOf({ state, fixed }: Counts): Counts {
  return { state, fixed };
}

function stored(state: BudgetState, fixed: BudgetState | null): StoredBudget {
  const { windowStart, spent, blockedUntil } = state;
  return {
    windowStart,
    spent,
    blockedUntil,
    fixed: fixed === null ? null : { windowStart: fixed.windowStart, spent: fixed.spent },
  };
}

/** Returns the count of fixed windows. A state without one, of an earlier version, has it if its window began in this one. */
function fixedOf(state: StoredBudget, rule: BudgetRule, now: number): BudgetState | null {
  if (state.fixed != null) return { ...state.fixed, blockedUntil: null };
  const { windowStart } = spendAnyway(null, rule, now, 0);
  return state.windowStart >= windowStart ? { ...state, windowStart, blockedUntil: null } : null;
}

/** Returns how many requests others have sent since `before`, as far as the count tells. */
function sentByOthers(before: BudgetState | null, stored: BudgetState | null): number {
  // After a 429 the count says that nothing is left, not what was sent.
  if (stored === null || stored.blockedUntil !== null) return 0;
  return before?.windowStart === stored.windowStart ? stored.spent - before.spent : stored.spent;
}

function covers(saved: StoredBudget, state: BudgetState, fixed: BudgetState | null): boolean {
  const isFixedCovered =
    fixed === null || (saved.fixed?.windowStart === fixed.windowStart && saved.fixed.spent >= fixed.spent);
  return (
    isFixedCovered &&
    saved.windowStart === state.windowStart &&
    saved.blockedUntil === state.blockedUntil &&
    saved.spent >= state.spent
  );
}

/** Returns a digest that identifies a token without revealing it. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 32);
}
