import { positionStatuses } from '../contract/vocabulary.js';
import { writtenSum } from '../http/written-sum.js';
import type { Position } from './positions.js';
import { multipleOf, totalOf } from './valuation.js';

const usual = 'usd';

/**
 * Amounts in different currencies are not added: with several currencies, the sums cover only the dollar positions.
 * The counts cover all positions.
 */
export function summaryOf(positions: readonly Position[], now: number) {
  const currencies = new Set(positions.map(({ round }) => round.currency));
  const [only] = currencies;
  const currency = currencies.size === 1 && only !== undefined ? only : usual;
  const worth = totalOf(
    positions.filter(({ round }) => round.currency === currency).map((position) => position.worth),
  );
  return {
    currency,
    total_cost_basis_cents: writtenSum(worth.cost),
    total_current_value_cents: writtenSum(worth.current),
    total_unrealized_gain_cents: writtenSum(worth.unrealized),
    total_realized_gain_cents: writtenSum(worth.realized),
    return_multiple: multipleOf(worth),
    as_of: new Date(now).toISOString(),
  };
}

export const countsOf = (positions: readonly Position[]) =>
  Object.fromEntries(
    positionStatuses.map((status) => [
      status,
      positions.filter(({ outcome }) => outcome.status === status).length,
    ]),
  );
