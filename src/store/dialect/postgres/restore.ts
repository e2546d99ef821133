import { open } from 'node:fs/promises';
import type { Selectable } from 'kysely';
import pg from 'pg';
import { defined } from '../../../domain/defined.js';
import { Fault, type FaultCode, isFault } from '../../../domain/fault.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import { isSharedProcessGone } from '../../../runtime/process-identity.js';
import {
  type Restored,
  type RestoreHooks,
  type RestoreParts,
  rowsIn,
  type TableProof,
  throwIfStopped,
} from '../../backup/made.js';
import { type PostgresLocation, secretUrlOf } from '../../database-location.js';
import { type ErasedSource, erasedNames, erasedSources } from '../../erased-sources.js';
import type { ForgottenSince } from '../../erasures.js';
import { followedFrom, listFollowed } from '../../followed-sources.js';
import { isLeaseRunning } from '../../lease-rules.js';
import { type AppliedMigration, pendingMigrations, shippedMigrations } from '../../migrate.js';
import { type MigratedTable, migratedTables } from '../../migrate-data/migrated-tables.js';
import { qualified, targetIn } from '../../migrate-data/postgres-target.js';
import type { FollowedSourcesTable } from '../../schema.js';
import type { SourceRow } from '../../source-row.js';
import { type ArchivedTable, lineEnds, readArchive } from './archive.js';
import { readDump } from './dump.js';
import { hideIn } from './erase-source.js';
import { dropIn, recallIn } from './erasures.js';
import { withPostgresFaults } from './faults.js';
import { isAlive } from './fleet-life.js';
import { saveFollowedIn } from './followed-sources.js';
import { namingHolders } from './lock-holders.js';
import { appliedMigrations, migratePostgres } from './migrate.js';
import { openPostgres, type PostgresDatabase } from './open.js';
import { type Transaction, transactionOn } from './transaction.js';

/**
 * Restores a backup into an empty database, or with `force` in place of its mirror. The file is read and verified first;
 * one transaction then replaces every row and erases who must stay forgotten. It commits only if the server returns as many
 * rows as the file contains, and, for an archive, rows with the same digests. Throws `usage` for an existing mirror
 * without `force`, `lease_lost` while a daemon uses it, and `database_unusable` for a damaged backup or one of another
 * schema than the existing mirror.
 */
export async function restorePostgres(
  file: string,
  place: PostgresLocation,
  parts: RestoreParts,
  hooks: RestoreHooks,
): Promise<Restored> {
  const backup = await openBackup(file, parts);
  const url = await secretUrlOf(place);
  const database = await openPostgres(url, { max: 2 });
  try {
    const tables = await replaced(database, url, backup, parts, hooks);
    await prepared(hooks);
    return {
      format: backup.format,
      made_at: backup.madeAt,
      schema: backup.schema,
      rows: rowsIn(tables),
      proven: backup.digests !== null,
      moved_aside: null,
    };
  } finally {
    await database.close();
  }
}

interface Backup {
  readonly format: 'pg_dump' | 'copy';
  readonly madeAt: Instant | null;
  readonly migrations: readonly AppliedMigration[];
  readonly schema: number;
  /** The last number of the change feed; null where only its rows say it. */
  readonly lastSeq: number | null;
  readonly indexes: readonly string[] | null;
  readonly rows: ReadonlyMap<string, number>;
  /** By table: the digest of its rows in the order of its key. Null for a format without digests. */
  readonly digests: ReadonlyMap<string, string | null> | null;
  read(take: (table: ArchivedTable) => Promise<void>): Promise<void>;
}

/** Reads the whole file once. Throws `usage` for a file of another kind and `database_unusable` for a damaged one. */
async function openBackup(file: string, parts: RestoreParts): Promise<Backup> {
  const begin = await beginOf(file);
  if (begin.startsWith('PGDMP')) return await openDump(file, parts);
  if (begin.startsWith('\u001f\u008b')) return await openArchive(file, parts);
  throw new Fault('usage', `${file} is not a backup of a mirror in PostgreSQL`, {
    hint: begin.startsWith('SQLite format 3')
      ? 'it is a SQLite file; rosterd migrate --from sqlite:FILE --to postgres://… copies it to PostgreSQL'
      : 'rosterd backup FILE makes one',
  });
}

async function beginOf(file: string): Promise<string> {
  try {
    const handle = await open(file, 'r');
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0);
      return buffer.toString('latin1', 0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new Fault('usage', `${file} cannot be read (${code})`, {
      hint: 'name a file that rosterd backup made',
      cause,
    });
  }
}

async function openArchive(file: string, { signal }: RestoreParts): Promise<Backup> {
  const rows = new Map<string, number>();
  const digests = new Map<string, string | null>();
  let backup: Backup | null = null;
  const counting = counter(rows, signal);
  const found = await readArchive(
    file,
    async ({ made_at, migrations, last_seq, indexes }) => {
      backup = {
        format: 'copy',
        madeAt: made_at,
        migrations,
        schema: schemaOf(migrations),
        rows,
        digests,
        lastSeq: last_seq,
        indexes,
        read: async (take) => void (await readArchive(file, async () => {}, take)),
      };
    },
    counting,
  );
  for (const { table, sha256 } of found) digests.set(table, sha256);
  if (backup === null) throw new Error('an archive was read without its head');
  return backup;
}

async function openDump(file: string, { env, signal }: RestoreParts): Promise<Backup> {
  let text = '';
  let columns: readonly string[] = [];
  const takeMigrations = async (table: ArchivedTable) => {
    columns = table.columns;
    for await (const chunk of table.lines) text += chunk.toString('utf8');
  };
  await readDump(file, env, signal, takeMigrations, 'migrations');
  const migrations = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const cells = line.split('\t');
      const of = (name: string) => cells[columns.indexOf(name)] ?? '';
      return {
        number: Number(of('number')),
        name: of('name'),
        checksum: of('checksum'),
        version: of('version'),
      };
    });
  const rows = new Map<string, number>();
  await readDump(file, env, signal, counter(rows, signal));
  return {
    format: 'pg_dump',
    madeAt: null,
    migrations,
    schema: schemaOf(migrations),
    rows,
    // Rows of a dump have no order, and the file has no digests.
    digests: null,
    lastSeq: null,
    indexes: null,
    // The file has the tables in any order, but a row must come after the row it refers to.
    read: async (take) => {
      for (const name of [...migratedTables.map((table) => table.name), feedCounter])
        await readDump(file, env, signal, take, name);
    },
  };
}

const schemaOf = (migrations: readonly AppliedMigration[]): number =>
  Math.max(0, ...migrations.map(({ number }) => number));

const counter =
  (rows: Map<string, number>, signal: AbortSignal) =>
  async ({ table, lines }: ArchivedTable): Promise<void> => {
    let count = 0;
    for await (const chunk of lines) {
      throwIfStopped(signal);
      count += lineEnds(chunk);
    }
    rows.set(table, count);
  };

const feedCounter = 'feed_counter';

/** Creates the tables of the backup's schema, or checks that the existing ones are of that schema. */
async function makeSchema(
  database: PostgresDatabase,
  { migrations, schema }: Backup,
  { clock, version }: RestoreParts,
): Promise<void> {
  const known = shippedMigrations('postgres');
  // Throws for a schema that this version does not know, or knows with another text.
  const later = pendingMigrations(known, migrations);
  const present = (await appliedMigrations(database)).length;
  if (present === 0) {
    const upTo = known.filter((migration) => !later.includes(migration));
    await migratePostgres(database, {
      clock,
      version,
      // Without a list, the roles of analysts get their rights too.
      ...(later.length === 0 ? {} : { migrations: upTo }),
    });
    return;
  }
  if (present !== schema)
    throw new Fault(
      'database_unusable',
      `${database.url} holds a mirror of schema ${present}, and the backup is of schema ${schema}`,
      { hint: 'Restore it into an empty database: createdb NAME, then set "database" to it.' },
    );
}

/** The hints of these faults are about a daemon, which tries again by itself. */
async function replaced(
  database: PostgresDatabase,
  url: string,
  backup: Backup,
  parts: RestoreParts,
  hooks: RestoreHooks,
): Promise<readonly TableProof[]> {
  try {
    await makeSchema(database, backup, parts);
    return await replaceRows(database, url, backup, parts, hooks);
  } catch (error) {
    if (isFault(error, 'database_full'))
      throw new Fault('database_full', error.message, {
        hint: 'Free space on the server, then run this again; nothing was replaced.',
        cause: error,
      });
    if (!isFault(error, 'database_busy') || error.about.lasting === true) throw error;
    const named = await namingHolders(database, error, 'Nothing was replaced.');
    if (named !== error) throw named;
    throw new Fault('database_busy', error.message, {
      hint: 'Nothing was replaced, unless the connection broke in the last step: rosterd status shows it. Run this again.',
      cause: error,
    });
  }
}

async function prepared({ prepare }: RestoreHooks): Promise<void> {
  try {
    await prepare(null);
  } catch (error) {
    if (!isFault(error)) throw error;
    const hint = afterwards[error.code] ?? error.about.hint;
    throw new Fault(error.code, `the backup is restored, but ${error.message}`, {
      ...defined({ hint }),
      cause: error,
    });
  }
}

const finishes =
  'Start rosterd, or run this again with --force: either finishes the erasure of what was erased since the backup.';

const afterwards: Partial<Record<FaultCode, string>> = {
  database_busy: finishes,
  lease_lost: finishes,
  database_full: `Free space on the server. ${finishes}`,
};

/** If this host freezes, the server releases the locks after this time. */
const idleMillis = 5 * 60_000;
/** How long to wait for a transaction that reads or writes the mirror. Others queue behind the restore meanwhile. */
const lockMillis = 10_000;

function replaceRows(
  database: PostgresDatabase,
  url: string,
  backup: Backup,
  parts: RestoreParts,
  { remember }: RestoreHooks,
): Promise<readonly TableProof[]> {
  return withPostgresFaults(database.url, async () => {
    const client = new pg.Client({ connectionString: url, application_name: 'rosterd-restore' });
    // A lost connection fails its current statement. Without this listener it would also end the process.
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query(
        `BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${parts.lockMs ?? lockMillis};
         SET LOCAL idle_in_transaction_session_timeout = ${idleMillis}`,
      );
      const tables = await presentTables(client, database);
      const all = tables.map((table) => qualified(table, database)).join(', ');
      await client.query(`LOCK TABLE ${all} IN EXCLUSIVE MODE`);
      await refuseInUse(client, database, parts);
      await refuseFilled(client, database, tables, parts.force);
      const { rows } = await client.query<ForgottenSince>('SELECT id, forgotten_at AS at FROM forgotten');
      const erased = tables.some(({ name }) => name === 'followed_sources') ? await erasedIn(client) : [];
      const people = remember(rows, erased);
      // Leases go with the sources.
      await client.query(`TRUNCATE ${all} CASCADE`);
      const proofs = await filled(client, database, tables, backup, parts);
      const transaction = transactionOn(client);
      const at = instantFromMillis(parts.clock.now());
      await recallIn(transaction, people, at);
      if (parts.identity === 'drop') await dropIn(transaction, at);
      if (erased.length > 0) await beginErasing(transaction, erased, at);
      throwIfStopped(parts.signal);
      await transaction.commit();
      return proofs;
    } finally {
      // The server rolls back an uncommitted transaction when the connection ends.
      await client.end().catch(() => {});
    }
  });
}

async function erasedIn(client: pg.Client): Promise<readonly ErasedSource[]> {
  const names = await client.query<{ name: string }>(erasedNames);
  const followed = await client.query<Selectable<FollowedSourcesTable>>(listFollowed);
  return erasedSources(
    names.rows.map(({ name }) => name),
    followed.rows.map(followedFrom),
  );
}

/**
 * Begins the erasure of sources in the commit that brings their rows: hides them, and gives them the entries that the
 * replaced mirror had of them, so that following does not bring them back. `RestoreHooks.prepare` finishes it; if it cannot,
 * so does the next daemon, or the next restore.
 */
async function beginErasing(
  transaction: Transaction,
  erased: readonly ErasedSource[],
  at: Instant,
): Promise<void> {
  const names = erased.map(({ name }) => name);
  const known = erased.flatMap(({ name, entry }) => (entry === null ? [] : [name]));
  const hidden = await transaction.rows<Pick<SourceRow, 'no' | 'name' | 'erasing_since'>>(
    `SELECT no, name, erasing_since FROM sources WHERE name = ANY ($1::text[])
       AND (name = ANY ($2::text[]) OR NOT EXISTS
         (SELECT 1 FROM followed_sources f WHERE f.source = sources.name AND f.state IN ('waiting', 'connected')))`,
    ...[names, known],
  );
  for (const source of hidden) hideIn(transaction, source, at);
  const rows = await transaction.rows<Selectable<FollowedSourcesTable>>(listFollowed);
  const stored = new Map(rows.map(followedFrom).map((entry) => [entry.source, entry]));
  await saveFollowedIn(
    transaction,
    erased.flatMap(({ name, entry }) =>
      entry === null ? [] : [{ before: stored.get(name) ?? null, next: entry }],
    ),
  );
}

async function presentTables(
  client: pg.Client,
  database: PostgresDatabase,
): Promise<readonly MigratedTable[]> {
  const present: MigratedTable[] = [];
  for (const table of migratedTables) {
    const { rows } = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
      qualified(table, database),
    ]);
    if (rows[0]?.there === true) present.push(table);
  }
  return present;
}

/**
 * Writes every row and reads it back. Throws `database_unusable` unless the server returns as many rows as were sent, with
 * the content that the digests of the backup name, if it has any.
 */
async function filled(
  client: pg.Client,
  database: PostgresDatabase,
  tables: readonly MigratedTable[],
  backup: Backup,
  { signal }: RestoreParts,
): Promise<readonly TableProof[]> {
  const target = targetIn(client, database, tables);
  const written = new Map<string, { readonly columns: readonly string[]; readonly rows: number }>();
  let lastSeq = backup.lastSeq ?? 0;
  await backup.read(async ({ table: name, columns, lines }) => {
    const table = tables.find((one) => one.name === name);
    if (table !== undefined) {
      const rows = await target.write(table, columns, stoppable(lines, signal));
      written.set(name, { columns, rows });
      return;
    }
    let text = '';
    for await (const chunk of lines) if (name === feedCounter) text += chunk.toString('utf8');
    if (name === feedCounter) lastSeq = Number(text.trim().split('\t')[columns.indexOf('last_seq')]);
  });
  await target.finish(lastSeq, backup.indexes);
  const proofs: TableProof[] = [];
  for (const table of tables) {
    throwIfStopped(signal);
    const { columns = [], rows: sent = 0 } = written.get(table.name) ?? {};
    const wanted = backup.rows.get(table.name) ?? 0;
    const found = columns.length === 0 ? { rows: 0, sha256: null } : await target.digest(table, columns);
    if (sent !== wanted || found.rows !== wanted)
      throw new Fault(
        'database_unusable',
        `${table.name} differs after the restore: ${wanted} rows in the backup, ${sent} sent, ${found.rows} read back`,
        { hint: 'Nothing was committed. Check the backup and the server.' },
      );
    const digest = backup.digests?.get(table.name) ?? null;
    if (digest !== null && found.sha256 !== null && found.sha256 !== digest)
      throw new Fault(
        'database_unusable',
        `${table.name} differs after the restore: its ${wanted} rows were read back with other content than the backup has`,
        {
          hint: 'Nothing was committed. Check the server, and triggers or rules that others added to the tables.',
        },
      );
    proofs.push({ table: table.name, ...found });
  }
  return proofs;
}

async function* stoppable(lines: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const chunk of lines) {
    throwIfStopped(signal);
    yield chunk;
  }
}

async function refuseInUse(
  client: pg.Client,
  database: PostgresDatabase,
  { clock, leaseMs }: { readonly clock: Clock; readonly leaseMs: number },
): Promise<void> {
  const members = await client.query<{ holder: string }>(
    `SELECT member AS holder FROM fleet_members m WHERE ${isAlive('m')} ORDER BY member`,
  );
  const leases = await client.query<{ holder: string; fence: number; expires_at: string }>(
    'SELECT holder, fence, expires_at FROM leases ORDER BY holder',
  );
  const inUse =
    members.rows.find(({ holder }) => !isSharedProcessGone(holder))?.holder ??
    leases.rows.find(
      (lease) => isLeaseRunning({ ...lease }, clock.now(), leaseMs) && !isSharedProcessGone(lease.holder),
    )?.holder;
  if (inUse !== undefined)
    throw new Fault('lease_lost', `${database.url} is in use by ${inUse}`, {
      hint: 'Stop every rosterd that uses this database, then run this again.',
    });
}

async function refuseFilled(
  client: pg.Client,
  database: PostgresDatabase,
  tables: readonly MigratedTable[],
  force: boolean,
): Promise<void> {
  if (force) return;
  for (const table of tables) {
    const { rowCount } = await client.query(`SELECT 1 FROM ${qualified(table, database)} LIMIT 1`);
    if (rowCount === 0) continue;
    throw new Fault('usage', `${database.url} already holds a mirror`, {
      hint: 'add --force to replace it. Everything that is in the mirror but not in the backup is then lost.',
    });
  }
}
