import { csv } from '../exports/csv.js';
import { gathered } from '../exports/gather.js';
import type { Cell } from '../exports/ports.js';
import type { QueryHandle, SqlValue } from '../store/reads/query.js';

export { type QueryHandle, type QueryLimits, runQuery, type SqlValue } from '../store/reads/query.js';
export { gathered };

/**
 * Returns a result as CSV, streamed row by row. The columns of a user query have no known type, so every text that
 * begins like a formula is escaped unless it is a number.
 */
export function queryCsv({ columns, rows }: QueryHandle): AsyncIterable<string> {
  return gathered(
    csv(
      {
        columns: columns.map((name) => ({ name, kind: 'decimal' as const })),
        async *rows() {
          for await (const row of rows) yield row.map(cellOf);
        },
      },
      { raw: false },
    ),
  );
}

export function cellOf(value: SqlValue): Cell {
  // The blob literal of SQLite.
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : value;
}
