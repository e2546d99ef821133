import { differenceOf, type Version } from '../domain/difference.js';
import { contentFields } from '../domain/investment.js';
import type { Drift } from './receipt.js';

const amountColumns = contentFields.filter(
  (field): field is 'committed_cents' | 'investment_size_cents' | 'in_escrow_cents' | 'raised_cents' =>
    field.endsWith('_cents'),
);

/** A row that awaits deletion is known to be missing on the platform: what is wrong with it is that it is there. */
export function compareDoubted(
  id: string,
  held: Version | undefined,
  platform: Version | undefined,
  awaiting: ReadonlySet<string>,
): Drift | null {
  if (held === undefined || !awaiting.has(id)) return compareRecord(id, held, platform);
  return platform === undefined ? null : { kind: 'doubted', id };
}

/** Null when both sides say the same, or neither has it. */
export function compareRecord(
  id: string,
  held: Version | undefined,
  platform: Version | undefined,
): Drift | null {
  if (held === undefined) return platform === undefined ? null : { kind: 'missing', id };
  if (platform === undefined) return { kind: 'extra', id };
  const difference = differenceOf(held, platform);
  if (difference === null) return null;
  // An identity that is there on one side and empty on the other has no column that differs.
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
