import { publicRelations } from '../../src/store/dictionary/relations.js';
import { rowsOf, type Store } from './mirror-fixture.js';

/** Columns with numbers that each database assigns by itself. All other columns must be equal. */
const own = new Set(['quarantine_no', 'inbox_no', 'notice', 'tick', 'erasure', 'no', 'source_no']);

/**
 * Returns every row of every relation in the data dictionary, in a fixed order. Two databases that received the same
 * input must return identical dumps.
 */
export async function canonicalDump(store: Store): Promise<Readonly<Record<string, readonly string[]>>> {
  const dump: Record<string, readonly string[]> = {};
  for (const { name, columns } of publicRelations) {
    const names = columns.map((column) => column.name).filter((column) => !own.has(column));
    const rows = await rowsOf(store, `SELECT ${names.join(', ')} FROM ${name}`);
    dump[name] = rows.map((row) => JSON.stringify(row)).sort();
  }
  return dump;
}
