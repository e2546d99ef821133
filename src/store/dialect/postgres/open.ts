import { Socket } from 'node:net';
import pg from 'pg';
import { defined } from '../../../domain/defined.js';
import { Fault } from '../../../domain/fault.js';
import { sqlName } from '../../../domain/sql-name.js';
import { addressText } from '../../database-location.js';
import { newestMigration } from '../../newest-migration.js';
import { Kysely, PostgresDialect } from '../../query-builder.js';
import type { Database } from '../../schema.js';
import { driverUrl } from './driver-url.js';
import { rememberEnd } from './end-of-session.js';
import { refusedParameter, withPostgresFaults } from './faults.js';
import { allRows, readCommitted } from './isolation.js';
import { namingHolders } from './lock-holders.js';
import { checkPassword, clientsOf, makeClient, type ServerAddress, urlOf } from './make-client.js';
import { retireReadOnly } from './retire-read-only.js';
import { identitySchemaOf, schemaBytesMax } from './schema-names.js';
import { valueTypes } from './values.js';

export interface PostgresDatabase {
  readonly pool: pg.Pool;
  readonly kysely: Kysely<Database>;
  /** Without the password, for messages. */
  readonly url: string;
  /** The schema of the mirror's tables and views, and the schema of the tables that can contain names. */
  readonly schema: string;
  readonly identitySchema: string;
  /** Of the server, such as 170004. */
  readonly version: number;
  close(): Promise<void>;
  /** Closes every connection at once, so that running statements fail. Then call `close`. */
  abandon(): void;
}

export interface PostgresOptions {
  /** The name of these connections in pg_stat_activity. */
  readonly applicationName?: string;
  readonly max?: number;
  readonly connectTimeoutMs?: number;
  /** How long an idle connection is kept. */
  readonly idleMs?: number;
  /** The server cancels statements that take longer. For queries of users; writes have limits of their own. */
  readonly statementTimeoutMs?: number;
  /** The server ends statements that wait longer for a lock. Transactions that write have limits of their own. */
  readonly lockTimeoutMs?: number;
  /** The driver's timeout for short queries: a server that takes longer is considered dead and the connection closed. */
  readonly answerMillis?: number;
  /** Rejects every write, and a database without a mirror. */
  readonly readonly?: boolean;
  /** How long to wait for a transaction that has locked the table of migrations, which is read first. */
  readonly lockMs?: number;
}

/**
 * Returns the limits for short queries of readers. A server that is there cancels a statement first and says why: otherwise
 * its process would wait on for a lock after the connection is closed, beside those of all later queries.
 */
export const shortQueries = (answerMillis: number): PostgresOptions => ({
  answerMillis,
  statementTimeoutMs: Math.ceil(0.8 * answerMillis),
});

const connectionsDefault = 10;
const connectTimeoutMsDefault = 5_000;
/** As long as every other statement waits for a lock. */
const lockMsDefault = 10_000;
/** The oldest supported version: it has everything used here, such as 64-bit transaction ids. */
const serverVersionMin = 140_000;

/**
 * Connects and checks the server. Throws `database_unusable` if it cannot hold a mirror or a later version of rosterd
 * wrote the mirror, and `database_busy` while it cannot be reached or another transaction has locked the mirror. Creates nothing; see `migratePostgres`.
 */
export async function openPostgres(
  server: ServerAddress,
  options: PostgresOptions = {},
): Promise<PostgresDatabase> {
  await checkPassword(server);
  try {
    return await openWith(server, options, 'parameters');
  } catch (error) {
    if (!isSettingRefused(error)) throw error;
    return await openWith(server, options, 'statements');
  }
}

/**
 * Connection poolers such as PgBouncer refuse settings among the parameters of a new connection, unless they are told to
 * ignore them. Statements that make the settings are for those only: a pooler in transaction mode would leave them to the
 * connections of others.
 */
type Settings = 'parameters' | 'statements';

function isSettingRefused(error: unknown): boolean {
  return refusedParameter(error instanceof Fault ? error.cause : error) !== null;
}

async function openWith(
  server: ServerAddress,
  options: PostgresOptions,
  settings: Settings,
): Promise<PostgresDatabase> {
  const url = urlOf(server);
  const safeUrl = addressText(url);
  const sockets = new Sockets();
  const pool = new pg.Pool({
    Client: clientsOf(server),
    stream: sockets.open,
    connectionString: driverUrl(
      options.readonly === true && settings === 'parameters' ? readOnlyUrl(url) : url,
    ),
    application_name: options.applicationName ?? 'rosterd',
    max: options.max ?? connectionsDefault,
    connectionTimeoutMillis: options.connectTimeoutMs ?? connectTimeoutMsDefault,
    types: valueTypes,
    ...defined({ idleTimeoutMillis: options.idleMs }),
    // Statements are sent without waiting for earlier results, so that a page costs few round trips.
    pipeline: true,
    ...defined({ query_timeout: options.answerMillis }),
    ...(settings === 'parameters'
      ? defined({ statement_timeout: options.statementTimeoutMs, lock_timeout: options.lockTimeoutMs })
      : {}),
  });
  // The pool replaces an idle connection that dies; without a listener the error would end the process.
  pool.on('error', () => {});
  // The pool listens only to idle connections. When the server ends one in the middle of a transaction, as it does after
  // its idle timeout, the next statement on it fails and reports the error.
  pool.on('connect', rememberEnd);
  const statements = [
    readCommitted,
    ...(options.readonly === true ? [] : [allRows]),
    ...(settings === 'statements' ? statementsFor(options) : []),
  ].join('; ');
  // Before the first statement of the connection, and without waiting for the result.
  pool.on('connect', (client) => {
    client.query(statements).catch(() => client.connection.stream.destroy());
  });
  if (options.readonly !== true) retireReadOnly(pool);
  try {
    const { schema, version } = await withPostgresFaults(safeUrl, () => checkServer(pool, safeUrl, options));
    return {
      pool,
      kysely: new Kysely<Database>({ dialect: new PostgresDialect({ pool }) }),
      url: safeUrl,
      schema,
      identitySchema: identitySchemaOf(schema),
      version,
      close: async () => {
        await closeOnce(pool);
        sockets.leave();
      },
      abandon: () => sockets.destroy(),
    };
  } catch (error) {
    await closeOnce(pool);
    sockets.destroy();
    throw error;
  }
}

/** The driver leaves a socket open that failed to authenticate, and the process with it until the server's timeout. */
class Sockets {
  readonly #open = new Set<Socket>();

  readonly open = (): Socket => {
    const socket = new Socket();
    this.#open.add(socket);
    return socket.once('close', () => this.#open.delete(socket));
  };

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /** The driver has said goodbye on each, and waits for the server, which may never answer. The process need not. */
  leave(): void {
    for (const socket of this.#open) socket.unref();
  }
}

/** Returns whether the database contains a mirror of any version. Throws the faults of `postgresFault`. */
export async function isMigrated(server: ServerAddress): Promise<boolean> {
  return await asked(server, isThere);
}

/**
 * Returns the number of the newest migration there; zero without a mirror. Throws `database_busy` while another transaction, such
 * as a restore, has locked the table.
 */
export async function appliedMigrations(server: ServerAddress, lockMs = 1_000): Promise<number> {
  return await asked(server, async (client) =>
    (await isThere(client)) ? ((await newestApplied(client, lockMs))?.number ?? 0) : 0,
  );
}

async function isThere(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query("SELECT to_regclass('migrations') IS NOT NULL AS there");
  return rows[0]?.there === true;
}

/** Asks on a connection of its own. */
async function asked<Result>(
  server: ServerAddress,
  ask: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const sockets = new Sockets();
  await checkPassword(server);
  return withPostgresFaults(addressText(urlOf(server)), async () => {
    const client = makeClient(server, {
      stream: sockets.open,
      connectionTimeoutMillis: connectTimeoutMsDefault,
      application_name: 'rosterd',
    });
    client.on('error', () => {});
    try {
      await client.connect();
      return await ask(client);
    } catch (error) {
      sockets.destroy();
      throw error;
    } finally {
      await client.end().catch(() => {});
    }
  });
}

/** Adds the setting to the URL's `options`, so that it applies to every session of the pool from its start. */
function readOnlyUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  const given = url.searchParams.get('options');
  const wanted = '-c default_transaction_read_only=on';
  url.searchParams.set('options', given === null ? wanted : `${given} ${wanted}`);
  return url.href;
}

/** Returns the statements that make the settings of a session. */
function statementsFor({ readonly, statementTimeoutMs, lockTimeoutMs }: PostgresOptions): readonly string[] {
  return [
    ...(readonly === true ? ['SET default_transaction_read_only = on'] : []),
    ...(statementTimeoutMs === undefined ? [] : [`SET statement_timeout = ${statementTimeoutMs}`]),
    ...(lockTimeoutMs === undefined ? [] : [`SET lock_timeout = ${lockTimeoutMs}`]),
  ];
}

interface Server {
  readonly version: number;
  readonly encoding: string;
  readonly schema: string | null;
  readonly migrated: 0 | 1;
}

/** Returns the version, and the schema in which unqualified names are created. Throws `database_unusable`. */
async function checkServer(
  pool: pg.Pool,
  url: string,
  { readonly, lockMs = lockMsDefault }: PostgresOptions,
): Promise<Pick<PostgresDatabase, 'schema' | 'version'>> {
  const { rows } = await pool.query<Server>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
            current_schema() AS schema, to_regclass('migrations') IS NOT NULL AS migrated`,
  );
  const [server] = rows;
  if (server === undefined) throw new Error('a query without FROM returned no row');
  if (server.version < serverVersionMin)
    throw unusable(
      url,
      `is PostgreSQL ${Math.floor(server.version / 10_000)}; the mirror needs ${serverVersionMin / 10_000} or later`,
      'Name another server under "database" in the configuration.',
    );
  if (server.encoding !== 'UTF8')
    throw unusable(
      url,
      `is encoded as ${server.encoding}; the mirror needs UTF8`,
      "Create the database with ENCODING 'UTF8' TEMPLATE template0.",
    );
  if (server.schema === null)
    throw unusable(
      url,
      'has no schema to put the mirror in',
      'Create the first schema of the search_path, or grant USAGE on it, or name another: ?options=-csearch_path%3DNAME',
    );
  const { schema, version } = server;
  if (Buffer.byteLength(schema) > schemaBytesMax)
    throw unusable(
      url,
      `has the mirror's schema ${schema}, whose name is too long: ${Buffer.byteLength(schema)} bytes, and at most ${schemaBytesMax} are possible`,
      `Rename it: ALTER SCHEMA ${sqlName(schema)} RENAME TO …; then name it in the address: ?options=-csearch_path%3DNAME`,
    );
  if (server.migrated === 1)
    try {
      await withPostgresFaults(url, () => refuseNewer(pool, url, lockMs));
    } catch (error) {
      const mirror = { pool, url, schema, identitySchema: identitySchemaOf(schema) };
      throw await namingHolders(mirror, error, 'The database was not opened.', 'migrations');
    }
  else if (readonly === true)
    throw unusable(
      url,
      'holds no mirror yet',
      'Run `rosterd sync` or `rosterd run` first: they create and fill it.',
    );
  return { schema, version };
}

async function refuseNewer(pool: pg.Pool, url: string, lockMs: number): Promise<void> {
  const newest = await newestApplied(pool, lockMs);
  const known = newestMigration('postgres');
  if (newest !== undefined && newest.number > known)
    throw unusable(
      url,
      `has schema ${newest.number}, written by rosterd ${newest.version}; this one knows up to ${known}`,
      'Install that version or a later one, or restore a backup.',
    );
}

interface Applied {
  readonly number: number;
  readonly version: string;
}

async function newestApplied(on: pg.Pool | pg.Client, lockMs: number): Promise<Applied | undefined> {
  // One message to the server, which returns a result for each statement.
  const results: unknown = await on.query(
    `BEGIN; SET LOCAL lock_timeout = ${lockMs};
     SELECT number, version FROM migrations ORDER BY number DESC LIMIT 1; COMMIT`,
  );
  const [, , newest] = results as readonly pg.QueryResult<Applied>[];
  return newest?.rows[0];
}

function unusable(url: string, what: string, hint: string): Fault {
  return new Fault('database_unusable', `${url} ${what}`, { hint });
}

async function closeOnce(pool: pg.Pool): Promise<void> {
  if (!pool.ended && !pool.ending) await pool.end();
}
