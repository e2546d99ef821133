import type pg from 'pg';
import { readingsOf } from '../../mirror-database.js';
import { PostgresDialect } from '../../query-builder.js';
import type { Reader, ReaderOptions } from '../port.js';
import { beginLongSnapshot, DeclaredCursor, InnerCursor, withCursors, withCursorsOn } from './cursor.js';
import { postgresFault } from './faults.js';
import type { ServerAddress } from './make-client.js';
import { withNamedRights } from './missing-rights.js';
import { openPostgres, type PostgresDatabase, type PostgresOptions } from './open.js';

/** One connection for a streamed result and one for other queries at the same time. */
const connectionsMax = 2;

export interface PostgresReader extends Reader {
  /** Closes its connections at once, so that running queries fail. */
  abandon(): void;
}

export async function openPostgresReader(
  server: ServerAddress,
  {
    oneState = false,
    ...options
  }: ReaderOptions & Pick<PostgresOptions, 'statementTimeoutMs' | 'lockTimeoutMs'> = {},
): Promise<PostgresReader> {
  const max = oneState ? 1 : connectionsMax;
  const opened = await openPostgres(server, { readonly: true, max, ...options });
  if (oneState) return await readerOfOneState(opened);
  const dialect = new PostgresDialect({ pool: withCursors(opened), cursor: DeclaredCursor });
  return {
    ...readingsOf(dialect),
    faultOf: (error) => named(opened, error),
    close: () => opened.close(),
    abandon: () => opened.abandon(),
  };
}

type Asked = Parameters<typeof withNamedRights>[0];

/** Returns what `withNamedRights` makes of an error. */
const named = (database: Asked, error: unknown): Promise<unknown> =>
  withNamedRights(database, () => Promise.reject(error)).catch((fault: unknown) => fault);

/** One transaction on one connection. If it is lost, queries fail: another one would see another state. */
async function readerOfOneState(opened: PostgresDatabase): Promise<PostgresReader> {
  const faultOf = (error: unknown) => postgresFault(error, opened.url);
  let client: pg.PoolClient | undefined;
  try {
    client = await opened.pool.connect();
    await client.query(beginLongSnapshot(opened));
    const begun = client;
    const dialect = new PostgresDialect({ pool: withCursorsOn(begun, opened.pool), cursor: InnerCursor });
    return {
      ...readingsOf(dialect),
      faultOf: async (error) => {
        // After an error, the transaction answers nothing any more.
        await begun.query('ROLLBACK').catch(() => {});
        return await named({ ...opened, pool: begun }, error);
      },
      async close() {
        begun.release(true);
        await opened.close();
      },
      abandon: () => opened.abandon(),
    };
  } catch (error) {
    // The pool would wait for it.
    client?.release(true);
    await opened.close();
    throw faultOf(error);
  }
}
