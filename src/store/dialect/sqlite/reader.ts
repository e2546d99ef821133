import { readingsOf } from '../../mirror-database.js';
import { SqliteDialect } from '../../query-builder.js';
import type { Reader, ReaderOptions } from '../port.js';
import { connectSqlite } from './connect.js';
import { ownSqlFault } from './faults.js';
import { readingDialect } from './reading-dialect.js';

export function openSqliteReader(file: string, { oneState = false }: ReaderOptions = {}): Reader {
  const open = () => connectSqlite(file, { readonly: true });
  const first = open();
  const faultOf = async (error: unknown) => ownSqlFault(error, file);
  if (!oneState) {
    const dialect = readingDialect(first, open);
    return { ...readingsOf(dialect), faultOf, close: async () => dialect.close() };
  }
  // The first statement that reads takes the state; closing the connection ends the transaction.
  first.raw.exec('BEGIN');
  return {
    ...readingsOf(new SqliteDialect({ database: first.raw })),
    faultOf,
    close: async () => first.close(),
  };
}
