import type { State } from '../../state/database.js';
import { all } from '../../state/statements.js';

/** Tables that a large world has millions of rows in. */
const large = ['investments', 'publications', 'ledger'];

/**
 * Runs `insert` without the indexes and triggers of the large tables, and creates them again afterwards: sorting an index
 * once is faster than inserting into it row by row, and there are no cached totals to forget. `insert` must not read
 * these tables by an index. Returns what it returns.
 */
export function insertInBulk<Result>(state: State, insert: () => Result): Result {
  const parts = all<{ type: string; name: string; sql: string }>(
    state,
    `SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL
       AND tbl_name IN (SELECT value FROM json_each(?))`,
    [JSON.stringify(large)],
  );
  // The names come from the schema, not from user input.
  for (const { type, name } of parts) state.exec(`DROP ${type} "${name}"`);
  const result = insert();
  for (const { sql } of parts) state.exec(sql);
  return result;
}
