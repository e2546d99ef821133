import { csv } from '../exports/csv.js';
import { gathered } from '../exports/gather.js';
import { jsonLines } from '../exports/json-lines.js';
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

/** Returns a result as one object per line, streamed row by row. A column name that repeats gets a number. */
export function queryJsonLines({ columns, rows }: QueryHandle): AsyncIterable<string> {
  return gathered(
    jsonLines({
      columns: distinct(columns).map((name) => ({ name, kind: 'text' as const })),
      async *rows() {
        for await (const row of rows) yield row.map(cellOf);
      },
    }),
  );
}

/** Returns the names with a number after each repeated one: `id`, `id_2`. */
export function distinct(names: readonly string[]): readonly string[] {
  const used = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let number = 2; used.has(free.toLowerCase()); number += 1) free = `${name}_${number}`;
    used.add(free.toLowerCase());
    return free;
  });
}

export function cellOf(value: SqlValue): Cell {
  // The blob literal of SQLite.
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : value;
}
