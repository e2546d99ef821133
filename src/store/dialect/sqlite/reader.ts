import { readingsOf } from '../../mirror-database.js';
import { SqliteDialect } from '../../query-builder.js';
import type { Reader, ReaderOptions } from '../port.js';
import { connectSqlite } from './connect.js';
import { ownSqlFault } from './faults.js';

export function openSqliteReader(file: string, { oneState = false }: ReaderOptions = {}): Reader {
  const opened = connectSqlite(file, { readonly: true });
  // The first statement that reads takes the state; closing the connection ends the transaction.
  if (oneState) opened.raw.exec('BEGIN');
  return {
    ...readingsOf(new SqliteDialect({ database: opened.raw })),
    faultOf: async (error) => ownSqlFault(error, file),
    close: async () => opened.close(),
  };
}
