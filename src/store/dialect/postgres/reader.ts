import { Kysely, PostgresDialect } from 'kysely';
import type { Reader } from '../../reads/open-reader.js';
import type { ReadDatabase } from '../../reads/views.js';
import { DeclaredCursor, withCursors } from './cursor.js';
import { postgresFault } from './faults.js';
import { openPostgres } from './open.js';

/** Long answers come in pieces on a connection of their own, and whoever streams may ask something beside it. */
const connectionsMax = 2;

export async function openPostgresReader(url: string): Promise<Reader> {
  const opened = await openPostgres(url, { readonly: true, max: connectionsMax });
  const dialect = new PostgresDialect({ pool: withCursors(opened.pool), cursor: DeclaredCursor });
  return {
    db: new Kysely<ReadDatabase>({ dialect }),
    faultOf: (error) => postgresFault(error, opened.url),
    close: () => opened.close(),
  };
}
