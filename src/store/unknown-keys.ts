import type { documentedKeys } from '../domain/investment.js';

type ListColumn = keyof typeof documentedKeys;

/**
 * Returns a statement that removes undocumented keys from `blockers` and `contracts`, for rows that earlier versions
 * stored with them. It marks the rows as rows with unknown fields, so that the erasure that follows counts them, clears
 * the mark and requests the scrub, as for every row with unknown fields.
 */
export function separateUnknownKeys(
  table: string,
  condition: string,
  documentedOnly: (column: ListColumn) => string,
): string {
  const differs = (column: ListColumn) => `(${column} <> '[]' AND ${column} <> ${documentedOnly(column)})`;
  return `UPDATE ${table} SET extra = coalesce(extra, '{}'),
      blockers = ${documentedOnly('blockers')}, contracts = ${documentedOnly('contracts')}
    WHERE (${condition}) AND (${differs('blockers')} OR ${differs('contracts')})`;
}
