/** Requests that refill evenly, up to a number that may be made at once. Times are on the monotonic clock. */
export interface AllowanceRule {
  readonly perHour: number;
  readonly atOnce: number;
}

const hourMillis = 60 * 60_000;

/**
 * Spreads requests over time. Spending is never refused, because what was sent is sent: a debt, of at most what
 * may be made at once, is paid off before the next request is due.
 */
export class Allowance {
  #left: number | null = null;
  #at = 0;

  /** Returns the milliseconds until the next request is due. */
  wait(now: number, rule: AllowanceRule): number {
    const left = this.#refilled(now, rule);
    return left >= 1 ? 0 : ((1 - left) / rule.perHour) * hourMillis;
  }

  spend(now: number, rule: AllowanceRule, requests: number): void {
    this.#left = Math.max(-rule.atOnce, this.#refilled(now, rule) - requests);
    this.#at = now;
  }

  #refilled(now: number, { perHour, atOnce }: AllowanceRule): number {
    if (this.#left === null) return atOnce;
    return Math.min(atOnce, this.#left + ((now - this.#at) / hourMillis) * perHour);
  }
}
