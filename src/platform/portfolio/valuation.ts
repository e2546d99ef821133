import { type CentsSum, centsSum } from '../../domain/money.js';
import { dollarsOf } from '../catalog/money.js';
import type { exitReasons, positionStatuses } from '../contract/vocabulary.js';
import type { State } from '../state/database.js';
import { one } from '../state/statements.js';
import type { Lot } from './lots.js';

export interface Outcome {
  readonly status: (typeof positionStatuses)[number];
  readonly exit_reason: (typeof exitReasons)[number] | null;
  readonly exited_on: string | null;
  readonly value_ppm: number;
  readonly as_of: number;
}

const million = 1_000_000n;

/** Returns the outcome of an offering. Without a valuation, positions are worth their cost. */
export function outcomeOf(state: State, offeringNo: number, now: number): Outcome {
  return (
    one<Outcome>(state, 'SELECT * FROM offering_outcomes WHERE offering_no = ?', [offeringNo]) ?? {
      status: 'active',
      exit_reason: null,
      exited_on: null,
      value_ppm: Number(million),
      as_of: now,
    }
  );
}

export interface Worth {
  readonly cost: CentsSum;
  readonly current: CentsSum;
  readonly unrealized: CentsSum;
  readonly realized: CentsSum;
}

const valued = (cents: number, outcome: Outcome): CentsSum =>
  centsSum((BigInt(cents) * BigInt(outcome.value_ppm)) / million);

/** Active positions have a value and no realized gain; ended positions have a realized gain and no value. */
export function worthOf(lot: Lot, outcome: Outcome): Worth {
  const value = valued(lot.costCents, outcome);
  const gain = centsSum(value, -lot.costCents);
  return outcome.status === 'active'
    ? { cost: lot.costCents, current: value, unrealized: gain, realized: 0 }
    : { cost: lot.costCents, current: 0, unrealized: 0, realized: gain };
}

export const totalOf = (worths: readonly Worth[]): Worth =>
  worths.reduce(
    (sum, worth) => ({
      cost: centsSum(sum.cost, worth.cost),
      current: centsSum(sum.current, worth.current),
      unrealized: centsSum(sum.unrealized, worth.unrealized),
      realized: centsSum(sum.realized, worth.realized),
    }),
    { cost: 0, current: 0, unrealized: 0, realized: 0 },
  );

/** Returns (cost + gains) / cost with two decimals, truncated. */
export function multipleOf({ cost, unrealized, realized }: Worth): string | null {
  if (cost === 0) return null;
  const hundredths = (BigInt(centsSum(cost, unrealized, realized)) * 100n) / BigInt(cost);
  return dollarsOf(hundredths);
}

/** Sums shares in units of half a share, to stay exact. */
export function sharesOf(lots: readonly Lot[]): string | null {
  const counts = lots.flatMap((lot) => lot.shares ?? []);
  return counts.length === 0 ? null : String(counts.reduce((sum, shares) => sum + Number(shares) * 2, 0) / 2);
}

/** Returns null without shares, for an ended position, and when the lots have different prices. */
export function sharePriceOf(lots: readonly Lot[], outcome: Outcome): string | null {
  const prices = new Set(
    lots.flatMap((lot) => (lot.shares === null ? [] : (lot.source.share_price_cents ?? []))),
  );
  const [price] = prices;
  if (price === undefined || prices.size > 1 || outcome.status !== 'active') return null;
  return dollarsOf(valued(price, outcome));
}
