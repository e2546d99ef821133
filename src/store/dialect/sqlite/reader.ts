import { SqliteDialect } from 'kysely';
import { readingsOf } from '../../mirror-database.js';
import type { Reader } from '../port.js';
import { connectSqlite } from './connect.js';
import { ownSqlFault } from './faults.js';

export function openSqliteReader(file: string): Reader {
  const opened = connectSqlite(file, { readonly: true });
  return {
    ...readingsOf(new SqliteDialect({ database: opened.raw })),
    faultOf: (error) => ownSqlFault(error, file),
    close: async () => opened.close(),
  };
}
