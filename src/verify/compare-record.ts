import { differenceOf, publicationDifference, type Version } from '../domain/difference.js';
import { contentFields } from '../domain/investment.js';
import type { Drift } from './receipt.js';

const amountColumns = contentFields.filter(
  (field): field is 'committed_cents' | 'investment_size_cents' | 'in_escrow_cents' | 'raised_cents' =>
    field.endsWith('_cents'),
);

/**
 * Same as `compareRecord`, except that a row awaiting deletion is expected to be missing on the platform: it is drift
 * only if the platform has it.
 */
export function compareAwaiting(
  id: string,
  held: Version | undefined,
  platform: Version | undefined,
  awaiting: ReadonlySet<string>,
): Drift | null {
  if (held === undefined || !awaiting.has(id)) return compareRecord(id, held, platform);
  return platform === undefined ? null : { kind: 'doubted', id };
}

/**
 * Returns the difference of a record, or null when both sides are equal or neither has it. With equal content, the
 * publication is compared: `observed_at`, and `reason` where both sides have one.
 */
function compareRecord(id: string, held: Version | undefined, platform: Version | undefined): Drift | null {
  if (held === undefined) return platform === undefined ? null : { kind: 'missing', id };
  if (platform === undefined) return { kind: 'extra', id };
  const difference = differenceOf(held, platform);
  if (difference === null) {
    const columns = publicationDifference(held.investment, platform.investment);
    return columns.length === 0 ? null : { kind: 'record', id, columns, amounts: [] };
  }
  // When one side has an empty identity and the other none, no column differs.
  const columns = difference.fields.length === 0 ? ['identity'] : difference.fields;
  const amounts = amountColumns
    .filter((column) => held.investment[column] !== platform.investment[column])
    .map((column) => ({
      column,
      held: held.investment[column],
      platform: platform.investment[column],
    }));
  return { kind: 'record', id, columns, amounts };
}
