import { publicRelations } from '../../src/store/dictionary/relations.js';
import { rowsOf, type Store } from './mirror-fixture.js';

/** Numbers each database hands out as it likes; everything else has to be equal. */
const own = new Set(['quarantine_no', 'inbox_no', 'notice', 'tick', 'erasure', 'no', 'source_no']);

/**
 * Every relation of the data dictionary, row by row, in an order of ours: what two databases that were told the
 * same must agree on to the letter.
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
