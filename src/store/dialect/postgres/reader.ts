import { PostgresDialect } from 'kysely';
import { readingsOf } from '../../mirror-database.js';
import type { Reader, ReaderOptions } from '../port.js';
import { DeclaredCursor, withCursors } from './cursor.js';
import { postgresFault } from './faults.js';
import type { ServerAddress } from './make-client.js';
import { openPostgres } from './open.js';

/** One connection for a streamed result and one for other queries at the same time. */
const connectionsMax = 2;

export async function openPostgresReader(
  server: ServerAddress,
  options: ReaderOptions = {},
): Promise<Reader> {
  const opened = await openPostgres(server, { readonly: true, max: connectionsMax, ...options });
  const dialect = new PostgresDialect({ pool: withCursors(opened.pool), cursor: DeclaredCursor });
  return {
    ...readingsOf(dialect),
    faultOf: (error) => postgresFault(error, opened.url),
    close: () => opened.close(),
  };
}
