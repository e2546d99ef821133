import { statSync } from 'node:fs';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { Fault, isFault } from '../../../domain/fault.js';
import { instantFromMillis } from '../../../domain/instant.js';
import {
  type BackupMade,
  type BackupParts,
  rowsIn,
  type TableProof,
  throwIfStopped,
} from '../../backup/made.js';
import { intoPrivateFile } from '../../backup/private-target.js';
import { type PostgresLocation, secretUrlOf } from '../../database-location.js';
import type { AppliedMigration } from '../../migrate.js';
import { migratedTables } from '../../migrate-data/migrated-tables.js';
import { qualified } from '../../migrate-data/postgres-target.js';
import { type ArchiveHead, lineEnds, readArchive, writeArchive } from './archive.js';
import { beginLongSnapshot } from './cursor.js';
import { driverUrl } from './driver-url.js';
import { readDump } from './dump.js';
import { lostRights, withNamedRights } from './missing-rights.js';
import { openPostgres, type PostgresDatabase } from './open.js';
import { connectingEnv, majorOf, runTool } from './pg-tools.js';

/**
 * Writes a consistent backup while daemons read and write, through pg_dump where it is installed and not older than the
 * server, else as rosterd's own archive of COPY data. All tables are read in one snapshot, and the file is read back and
 * compared with it. Throws `database_unusable`, `database_busy`, `usage` for a folder that cannot be written to, and
 * `stopped` when `signal` fires; `target` is then unchanged.
 */
export async function backUpPostgres(
  place: PostgresLocation,
  target: string,
  parts: BackupParts,
): Promise<BackupMade> {
  const url = await secretUrlOf(place);
  const database = await openPostgres(url, { readonly: true, max: 1 });
  try {
    return await intoPrivateFile(target, parts.clock.now(), (unfinished) =>
      inSnapshot(database, url, async (client) => {
        const head = await headOf(client, database, parts);
        const note = await whyNotDump(client, parts.env);
        const tables =
          note === null
            ? await dumped(client, database, place, unfinished, head, parts)
            : await archived(client, database, unfinished, head, parts);
        return {
          file: target,
          format: note === null ? ('pg_dump' as const) : ('copy' as const),
          bytes: statSync(unfinished).size,
          made_at: head.made_at,
          schema: Math.max(0, ...head.migrations.map(({ number }) => number)),
          rows: rowsIn(tables),
          tables,
          note,
        };
      }),
    );
  } finally {
    await database.close();
  }
}

/** Runs `work` on one state of the database, on a dedicated connection: COPY cannot be mixed with pipelined statements. */
function inSnapshot<Result>(
  database: PostgresDatabase,
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  return withNamedRights(database, async () => {
    const client = new pg.Client({ connectionString: driverUrl(url), application_name: 'rosterd-backup' });
    // A lost connection fails its current statement. Without this listener it would also end the process.
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query(beginLongSnapshot(database));
      return await work(client);
    } finally {
      await client.end().catch(() => {});
    }
  });
}

async function headOf(
  client: pg.Client,
  database: PostgresDatabase,
  { clock, version }: BackupParts,
): Promise<ArchiveHead> {
  const migrations = await client.query<AppliedMigration>(
    'SELECT number, name, checksum, version FROM migrations ORDER BY number',
  );
  const counter = await client.query<{ last_seq: string }>('SELECT last_seq FROM feed_counter');
  const indexes = await client.query<{ name: string }>(
    "SELECT indexname AS name FROM pg_indexes WHERE schemaname = $1 AND tablename = 'investment_rows' ORDER BY 1",
    [database.schema],
  );
  const columns = await client.query<{ table: string; columns: string[] }>(
    `SELECT c.relname AS table, array_agg(a.attname::text ORDER BY a.attnum) AS columns
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       AND a.attgenerated = ''
     WHERE c.oid = ANY ($1::regclass[]::oid[]) GROUP BY c.relname`,
    [await presentTables(client, database)],
  );
  return {
    made_at: instantFromMillis(clock.now()),
    version,
    migrations: migrations.rows,
    last_seq: Number(counter.rows[0]?.last_seq ?? 0),
    indexes: indexes.rows.map(({ name }) => name),
    tables: migratedTables.flatMap(({ name }) => columns.rows.filter(({ table }) => table === name)),
  };
}

/** An older schema lacks some of today's tables. */
async function presentTables(client: pg.Client, database: PostgresDatabase): Promise<readonly string[]> {
  const names = migratedTables.map((table) => qualified(table, database));
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL',
    [names],
  );
  return rows.map(({ name }) => name);
}

/** Returns why pg_dump cannot make this backup; null when it can. */
async function whyNotDump(client: pg.Client, env: BackupParts['env']): Promise<string | null> {
  const { rows } = await client.query<{ major: number }>(
    "SELECT current_setting('server_version_num')::int / 10000 AS major",
  );
  const server = rows[0]?.major ?? 0;
  const [dump, restore] = [await majorOf('pg_dump', env), await majorOf('pg_restore', env)];
  if (dump === null || restore === null) return 'pg_dump is not installed';
  return Math.min(dump, restore) < server
    ? `pg_dump ${dump} is older than the server, PostgreSQL ${server}`
    : null;
}

async function dumped(
  client: pg.Client,
  database: PostgresDatabase,
  place: PostgresLocation,
  file: string,
  head: ArchiveHead,
  { env, signal }: BackupParts,
): Promise<readonly TableProof[]> {
  const { rows } = await client.query<{ id: string }>('SELECT pg_export_snapshot() AS id');
  const { schema, identitySchema } = database;
  const exact = (name: string) => `"${name.replaceAll('"', '""')}"`;
  const args = [
    // With `--verbose` it writes a message before each table, and so ends there after this process was killed.
    ...['--format=custom', '--verbose', '--no-password', '--no-owner', `--snapshot=${rows[0]?.id}`],
    ...[`--schema=${exact(schema)}`, `--schema=${exact(identitySchema)}`],
    // What belongs to running processes is not part of a backup.
    ...['leases', 'fleet_members', 'fleet_sources'].map(
      (table) => `--exclude-table-data=${exact(schema)}.${table}`,
    ),
    ...[`--file=${file}`, `--dbname=${place.url}`],
  ];
  try {
    await runTool('pg_dump', args, await connectingEnv(place, env), signal);
  } catch (error) {
    // What pg_dump prints about it is not shown.
    throw (isFault(error, 'database_unusable') ? await lostRights(database) : null) ?? error;
  }
  const counted: TableProof[] = [];
  for (const { table } of head.tables) {
    throwIfStopped(signal);
    const { rows: counts } = await client.query<{ rows: string }>(
      `SELECT count(*) AS rows FROM ${qualified(migratedTable(table), database)}`,
    );
    counted.push({ table, rows: Number(counts[0]?.rows ?? 0), sha256: null });
  }
  const found = new Map<string, number>();
  await readDump(file, env, signal, async ({ table, lines }) => {
    let number = 0;
    for await (const chunk of lines) number += lineEnds(chunk);
    found.set(table, number);
  });
  for (const { table, rows: wanted } of counted)
    if (found.get(table) !== wanted) throw unequal(file, table, wanted, found.get(table));
  return counted;
}

async function archived(
  client: pg.Client,
  database: PostgresDatabase,
  file: string,
  head: ArchiveHead,
  { signal }: BackupParts,
): Promise<readonly TableProof[]> {
  const rowsOf = (table: string, columns: readonly string[]): AsyncIterable<Buffer> => {
    const list = columns.map(pg.escapeIdentifier).join(', ');
    const of = migratedTable(table);
    const rows = `SELECT ${list} FROM ${qualified(of, database)} ORDER BY ${of.key.join(', ')}`;
    return client.query(copyTo(`COPY (${rows}) TO STDOUT`));
  };
  const sent = await writeArchive(file, head, rowsOf, signal);
  // Reads the file back from the disk.
  const found = await readArchive(
    file,
    async () => {},
    async ({ lines }) => {
      for await (const _chunk of lines) throwIfStopped(signal);
    },
  );
  for (const { table, rows, sha256 } of sent) {
    const other = found.find((one) => one.table === table);
    if (other?.rows !== rows || other.sha256 !== sha256) throw unequal(file, table, rows, other?.rows);
  }
  return sent;
}

function unequal(file: string, table: string, wanted: number, found: number | undefined): Fault {
  return new Fault(
    'database_unusable',
    `${table} in ${file} differs from the database: ${wanted} rows expected, ${found ?? 'none'} found`,
    { hint: 'Check the disk, then make the backup again.' },
  );
}

function migratedTable(name: string) {
  const table = migratedTables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`${name} is not a table of a backup`);
  return table;
}
