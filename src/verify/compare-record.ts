import { differenceOf, publicationDifference, type Version } from '../domain/difference.js';
import { contentFields, type FeedItem } from '../domain/investment.js';
import type { StoredRows } from './ports.js';
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

/** A record as the feed or the listing shows it. */
export type Listed = Extract<FeedItem, { kind: 'record' }>;

/**
 * Same as `compareAwaiting` for a record that `keepable` returned before the mirror was read. A person may have been
 * forgotten in between: the mirror then lacks what the record still names, which is no difference.
 */
export async function compareKeepable(
  stored: Pick<StoredRows, 'keepable'>,
  id: string,
  held: Version | undefined,
  listed: Listed | undefined,
  awaiting: ReadonlySet<string>,
): Promise<Drift | null> {
  const differs = compareAwaiting(id, held, listed, awaiting);
  if (differs === null || listed === undefined) return differs;
  const [kept] = await stored.keepable([listed]);
  return compareAwaiting(id, held, kept?.kind === 'record' ? kept : listed, awaiting);
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
