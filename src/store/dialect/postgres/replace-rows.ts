import type { Selectable } from 'kysely';
import pg from 'pg';
import { Fault } from '../../../domain/fault.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import { isSharedProcessGone } from '../../../runtime/process-identity.js';
import { type RestoreHooks, type RestoreParts, type TableProof, throwIfStopped } from '../../backup/made.js';
import { type ErasedSource, erasedNames, erasedSources, keepErased } from '../../erased-sources.js';
import type { ForgottenSince } from '../../erasures.js';
import { followedFrom, listFollowed } from '../../followed-sources.js';
import { isLeaseRunning } from '../../lease-rules.js';
import { type MigratedTable, migratedTables } from '../../migrate-data/migrated-tables.js';
import { qualified, targetIn } from '../../migrate-data/postgres-target.js';
import type { FollowedSourcesTable } from '../../operating-schema.js';
import type { SourceRow } from '../../source-row.js';
import { driverUrl } from './driver-url.js';
import { emptySmall, hideIn } from './erase-source.js';
import { dropFollowedIn, dropIn, recallIn } from './erasures.js';
import { withPostgresFaults } from './faults.js';
import { isAlive } from './fleet-life.js';
import { saveFollowedIn } from './followed-sources.js';
import type { PostgresDatabase } from './open.js';
import { type Backup, feedCounter } from './open-backup.js';
import { numbered } from './placeholders.js';
import { withoutTimeLimits } from './time-limits.js';
import { type Transaction, transactionOn } from './transaction.js';

/** If this host freezes, the server releases the locks after this time. */
const idleMillis = 5 * 60_000;
/** How long to wait for a transaction that reads or writes the mirror. Others queue behind the restore meanwhile. */
const lockMillis = 10_000;

/**
 * Replaces every row of the mirror by those of the backup in one transaction, and erases who must stay forgotten in it.
 * Commits only if the server returns the rows that the file contains. Throws `usage` for an existing mirror without `force`,
 * `lease_lost` while a daemon uses it, and `database_unusable` for rows that differ when they are read back.
 */
export function replaceRows(
  database: PostgresDatabase,
  url: string,
  backup: Backup,
  parts: RestoreParts,
  { remember }: RestoreHooks,
): Promise<readonly TableProof[]> {
  return withPostgresFaults(database.url, async () => {
    const client = new pg.Client({ connectionString: driverUrl(url), application_name: 'rosterd-restore' });
    // A lost connection fails its current statement. Without this listener it would also end the process.
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query(
        `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${parts.lockMs ?? lockMillis};
         ${withoutTimeLimits(database, idleMillis)}`,
      );
      const tables = await presentTables(client, database);
      const all = tables.map((table) => qualified(table, database)).join(', ');
      await client.query(`LOCK TABLE ${all} IN EXCLUSIVE MODE`);
      await refuseInUse(client, database, parts);
      await refuseFilled(client, database, tables, parts.force);
      const { rows } = await client.query<ForgottenSince>('SELECT id, forgotten_at AS at FROM forgotten');
      const has = (table: string) => tables.some(({ name }) => name === table);
      const hasFollowed = has('followed_sources');
      const erased = hasFollowed ? await erasedIn(client) : [];
      const people = remember(rows, erased);
      // Leases go with the sources.
      await client.query(`TRUNCATE ${all} CASCADE`);
      const proofs = await filled(client, database, tables, backup, parts);
      const transaction = transactionOn(client);
      const at = instantFromMillis(parts.clock.now());
      await recallIn(transaction, people, at);
      // In the commit that brings them: the next daemon would perform them if `RestoreHooks.prepare` fails.
      if (has('operator_requests')) transaction.send('DELETE FROM operator_requests');
      if (parts.identity === 'drop') await dropIn(transaction, at);
      else if (hasFollowed) await dropFollowedIn(transaction, parts.namelessRules ?? [], at);
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
  for (const source of hidden) {
    hideIn(transaction, source, at);
    await emptySmall(transaction, source);
  }
  for (const name of names) transaction.send(numbered(keepErased), name, at);
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
