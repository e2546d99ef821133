import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { Fault, isFault } from '../../domain/fault.js';
import { driverUrl } from '../dialect/postgres/driver-url.js';
import { postgresFault, withPostgresFaults } from '../dialect/postgres/faults.js';
import { namingHolders } from '../dialect/postgres/lock-holders.js';
import { isMigrated, openPostgres, type PostgresDatabase } from '../dialect/postgres/open.js';
import { withoutTimeLimits } from '../dialect/postgres/time-limits.js';
import { inTransaction } from '../dialect/postgres/transaction.js';
import { shippedIndexes } from '../migrate.js';
import { type MigratedTable, migratedTables } from './migrated-tables.js';

type Schemas = Pick<PostgresDatabase, 'schema' | 'identitySchema'>;

/** The operations of the transaction that fills the target mirror. */
export interface MigrationTarget {
  /** Writes lines in COPY text format. Returns the number of rows. */
  write(
    table: MigratedTable,
    columns: readonly string[],
    lines: Iterable<string> | AsyncIterable<Buffer>,
  ): Promise<number>;
  digest(table: MigratedTable, columns: readonly string[]): Promise<TableDigest>;
  /** `indexes`: those of `investment_rows` in the source; null builds all. */
  finish(lastSeq: number, indexes: readonly string[] | null): Promise<void>;
}

export interface TableDigest {
  readonly rows: number;
  readonly sha256: string;
}

/** If this host freezes during the copy, the server releases the table locks after this time. */
const idleMillis = 5 * 60_000;
/** How long to wait for a transaction that uses the empty target. */
const lockMillis = 10_000;

/**
 * Throws `database_unusable` when the target already has a mirror, or other tables where one would be, and `database_busy`
 * while another transaction has locked it. Writes nothing.
 */
export async function lookAtTarget(url: string, lockMs = lockMillis): Promise<void> {
  const migrated = await isMigrated(url);
  const database = await openPostgres(url, { max: 1 });
  try {
    if (migrated)
      await namedIfLocked(database, () =>
        inTransaction(database, async (transaction) => {
          await transaction.run(`SET LOCAL lock_timeout = ${lockMs}`);
          await refuseFilled((text) => transaction.rows(text), database);
        }),
      );
    else await withPostgresFaults(database.url, () => refuseForeign(database));
  } finally {
    await database.close();
  }
}

/** Runs `work` on the target. A lock that it did not get in time is reported with the sessions that have locks. */
async function namedIfLocked<Result>(
  database: PostgresDatabase,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw await namingHolders(database, error, 'Nothing was copied.');
  }
}

/**
 * Runs `work` in one transaction on a dedicated connection, because COPY cannot be mixed with pipelined statements. If
 * it ends before the commit, the mirror stays empty. The table locks make other daemons wait until it ends.
 */
export function fillTarget<Result>(
  database: PostgresDatabase,
  url: string,
  work: (target: MigrationTarget) => Promise<Result>,
  lockMs = lockMillis,
): Promise<Result> {
  return namedIfLocked(database, () => filled(database, url, work, lockMs));
}

function filled<Result>(
  database: PostgresDatabase,
  url: string,
  work: (target: MigrationTarget) => Promise<Result>,
  lockMs: number,
): Promise<Result> {
  return withPostgresFaults(database.url, async () => {
    const client = new pg.Client({ connectionString: driverUrl(url), application_name: 'rosterd-migrate' });
    // A lost connection fails its current statement. Without this listener it would also end the process.
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query(
        `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${lockMs};
         ${withoutTimeLimits(database, idleMillis)}`,
      );
      const all = migratedTables.map((table) => qualified(table, database)).join(', ');
      await client.query(`LOCK TABLE ${all} IN EXCLUSIVE MODE`);
      await refuseFilled(async (text) => (await client.query(text)).rows, database);
      const result = await work(targetIn(client, database));
      await client.query('COMMIT').catch((error: unknown) => {
        throw inDoubt(postgresFault(error, database.url));
      });
      return result;
    } finally {
      // The server rolls back an uncommitted transaction when the connection ends.
      await client.end().catch(() => {});
    }
  });
}

/** Of a commit without an answer, only the target knows whether it happened. */
function inDoubt(error: unknown): unknown {
  if (!isFault(error, 'database_busy')) return error;
  return new Fault('database_busy', `${error.message}, at the commit of the copy`, {
    hint: 'Run this again: the target is empty, or this says that it holds the mirror, which is then complete.',
    cause: error,
  });
}

/** Returns the operations on the open transaction of `client`. */
export function targetIn(
  client: pg.Client,
  schemas: Schemas,
  tables: readonly MigratedTable[] = migratedTables,
): MigrationTarget {
  return {
    async write(table, columns, lines) {
      const copy = client.query(copyFrom(`COPY ${qualified(table, schemas)} (${list(columns)}) FROM STDIN`));
      await pipeline(Readable.from(lines, { objectMode: true, highWaterMark: 2 }), copy);
      return copy.rowCount;
    },
    async digest(table, columns) {
      const rows = `SELECT ${list(columns)} FROM ${qualified(table, schemas)} ORDER BY ${list(table.key)}`;
      const copy = client.query(copyTo(`COPY (${rows}) TO STDOUT`));
      const hash = createHash('sha256');
      for await (const chunk of copy) hash.update(chunk as Buffer);
      return { rows: copy.rowCount, sha256: hash.digest('hex') };
    },
    async finish(lastSeq, indexes) {
      await client.query('UPDATE feed_counter SET last_seq = $1', [lastSeq]);
      for (const table of tables) {
        const { counter } = table;
        if (counter === undefined) continue;
        const name = qualified(table, schemas);
        await client.query(
          `SELECT setval(pg_get_serial_sequence($1, $2), coalesce(max(${counter}), 1), max(${counter}) IS NOT NULL)
           FROM ${name}`,
          [name, counter],
        );
      }
      // The two databases have different indexes. One index besides that of the ids means that all were built.
      const all = indexes === null || indexes.some((name) => name !== 'investment_rows_id');
      for (const { name, sql } of shippedIndexes('postgres'))
        if (all || indexes?.includes(name) === true) await client.query(sql);
      // Without statistics the planner would choose full scans.
      for (const table of tables) await client.query(`ANALYZE ${qualified(table, schemas)}`);
    },
  };
}

async function refuseFilled(
  rowsOf: <Row>(text: string) => Promise<Row[]>,
  database: PostgresDatabase,
): Promise<void> {
  const counts = migratedTables.map(
    (table) => `SELECT '${table.name}' AS name, count(*)::int AS rows FROM ${qualified(table, database)}`,
  );
  const rows = await rowsOf<{ name: string; rows: number }>(counts.join(' UNION ALL '));
  const filled = rows.filter((table) => table.rows > 0);
  if (filled.length === 0) return;
  const sources = await rowsOf<{ name: string }>('SELECT name FROM sources ORDER BY no');
  const names = sources.length === 0 ? '' : ` of ${sources.map(({ name }) => name).join(', ')}`;
  throw new Fault(
    'database_unusable',
    `${database.url} is not empty, it holds a mirror${names}: ${filled.map((table) => `${table.name} ${table.rows}`).join(', ')}`,
    { hint: 'Name an empty database: createdb NAME. Nothing was written to this one.' },
  );
}

/** Throws `database_unusable` when foreign tables exist where those of the mirror would be created. */
async function refuseForeign({ pool, url, schema, identitySchema }: PostgresDatabase): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE (schemaname = $1 AND tablename = ANY ($2)) OR schemaname = $3 ORDER BY 1 LIMIT 1`,
    [schema, migratedTables.map(({ name }) => name), identitySchema],
  );
  for (const { name } of rows)
    throw new Fault('database_unusable', `${url} holds ${name}, which does not belong to a mirror`, {
      hint: 'Name an empty database: createdb NAME. Nothing was written to this one.',
    });
}

export function qualified({ name, identity }: MigratedTable, { schema, identitySchema }: Schemas): string {
  return `${pg.escapeIdentifier(identity === true ? identitySchema : schema)}.${name}`;
}

const list = (columns: readonly string[]): string => columns.map(pg.escapeIdentifier).join(', ');
