import type pg from 'pg';
import { isFault } from '../../../domain/fault.js';
import { instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import type { Scrubbed } from '../../erasures.js';
import { postgresFault, withPostgresFaults } from './faults.js';
import type { PostgresDatabase } from './open.js';
import { longWorkLimits } from './time-limits.js';
import { inTransaction } from './transaction.js';

/**
 * Rewrites the tables from which personal data was erased, with their indexes. A deleted row stays in its page until the
 * space is reused, and plain VACUUM only marks the space as free. VACUUM FULL copies the live rows into a new file and
 * deletes the old one. It locks the table, so only tables marked by the triggers are rewritten; history, the largest, is
 * marked only when unknown fields were erased in it. The planner's samples of values are taken again, where there are any.
 *
 * Never waits, and a disk without room for the copy changes nothing. VACUUM FULL also copies rows that an older transaction
 * may still see, so nothing is rewritten while there is one. The write-ahead log, replicas and backups keep the bytes until
 * their own retention removes them.
 */
export async function scrub(database: PostgresDatabase, clock: Clock): Promise<Scrubbed> {
  const pending = await takePending(database, clock);
  if (pending === null) return { kind: 'clean' };
  const { last, marks, relations, horizon, waiting } = pending;
  const blocked: Scrubbed = { kind: 'blocked', erasures: waiting, rewritten: 0 };
  if (await isSeenByOthers(database, horizon)) return blocked;
  try {
    for (const relation of relations) if (!(await rewrite(database, relation, horizon))) return blocked;
  } catch (error) {
    if (!isFault(error, 'database_full')) throw error;
    return { kind: 'no_room', erasures: waiting, bytesMissing: null };
  }
  return inTransaction(database, async (transaction) => {
    transaction.send('DELETE FROM residue_marks WHERE mark <= $1', marks);
    const erasures = await transaction.run(
      'UPDATE erasures SET scrubbed_at = $1 WHERE scrubbed_at IS NULL AND erasure <= $2',
      ...[instantFromMillis(clock.now()), last],
    );
    return { kind: 'scrubbed', erasures };
  });
}

interface Pending {
  /** The number of the newest receipt; later ones are left to the next scrub, as are later marks. */
  readonly last: number;
  readonly marks: number;
  readonly relations: readonly string[];
  /** Every removal among them is older than this transaction. */
  readonly horizon: string;
  readonly waiting: number;
}

/** Returns the pending work, or null if there is none. Writes a receipt for removals that do not have one yet. */
async function takePending(database: PostgresDatabase, clock: Clock): Promise<Pending | null> {
  return inTransaction(database, async (transaction) => {
    // Blocks new marks while they are counted, so that all of them are older than `horizon`.
    await transaction.run('LOCK TABLE residue_marks IN SHARE ROW EXCLUSIVE MODE');
    if ((await transaction.run('UPDATE residue_marks SET receipted = 1 WHERE receipted = 0')) > 0)
      transaction.send(
        "INSERT INTO erasures (cause, invisible_at) VALUES ('removed', $1)",
        instantFromMillis(clock.now()),
      );
    const row = await transaction.row<{
      last: number | null;
      waiting: number;
      marks: number;
      horizon: string;
    }>(
      `SELECT (SELECT max(erasure) FROM erasures WHERE scrubbed_at IS NULL) AS last,
              (SELECT count(*) FROM erasures WHERE scrubbed_at IS NULL) AS waiting,
              (SELECT coalesce(max(mark), 0) FROM residue_marks) AS marks,
              pg_current_xact_id()::text AS horizon`,
    );
    if (row === undefined || row.last === null) return null;
    const marked = await transaction.rows<{ relation: string }>(
      'SELECT DISTINCT relation FROM residue_marks ORDER BY relation',
    );
    return { ...row, last: row.last, relations: marked.map(({ relation }) => relation) };
  });
}

/**
 * Whether another transaction may still see rows as they were before the removal: one of another session, a prepared
 * transaction, or one on a standby. A standby that reports its transactions has a replication slot, or a session that
 * belongs to no database. Writers in other databases count too: VACUUM FULL keeps everything that the oldest writer of the
 * whole server might see.
 */
async function isSeenByOthers(database: PostgresDatabase, horizon: string): Promise<boolean> {
  const older = (column: string) => `${column} IS NOT NULL AND age(${column}) > age($1::xid8::xid)`;
  const { rows } = await withPostgresFaults(database.url, () =>
    database.pool.query(
      `SELECT 1 FROM pg_stat_activity
       WHERE pid <> pg_backend_pid()
         AND (${older('backend_xid')}
              OR ((datname = current_database() OR datname IS NULL) AND ${older('backend_xmin')}))
       UNION ALL SELECT 1 FROM pg_prepared_xacts WHERE ${older('transaction')}
       UNION ALL SELECT 1 FROM pg_replication_slots WHERE ${older('xmin')}
       LIMIT 1`,
      [horizon],
    ),
  );
  return rows.length > 0;
}

/** Rewrites one table. Returns false if another session is using it, or may still see rows from before the removal. */
async function rewrite(database: PostgresDatabase, relation: string, horizon: string): Promise<boolean> {
  const { pool, url } = database;
  const limits = longWorkLimits(database);
  const client = await withPostgresFaults(url, () => pool.connect());
  try {
    // VACUUM cannot run in a transaction, so the settings apply to the session. A time limit that the role or the database has
    // would end the rewrite of a large table at every attempt.
    await client.query(['SET lock_timeout = 200', ...limits.map((name) => `SET ${name} = 0`)].join('; '));
    await client.query(`VACUUM (FULL, ANALYZE) ${relation}`);
    await sampleAgain(client, relation);
    return await isWithoutRemoved(client, relation, horizon);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '55P03') return false;
    throw postgresFault(error, url);
  } finally {
    // Ends the session: behind a pooler, RESET would also drop the settings that the pool made with statements.
    client.release(true);
  }
}

/**
 * Whether VACUUM FULL left out every row that was removed before `horizon`. Up to PostgreSQL 17, `isSeenByOthers` misses a session
 * that is still connecting: it sees old rows and is not listed. VACUUM FULL stores the oldest transaction that any session may
 * still see as the table's `relfrozenxid`.
 */
async function isWithoutRemoved(client: pg.PoolClient, relation: string, horizon: string): Promise<boolean> {
  const { rows } = await client.query<{ removed: 0 | 1 }>(
    'SELECT age(relfrozenxid) <= age($2::xid8::xid) AS removed FROM pg_class WHERE oid = $1::text::regclass',
    [relation, horizon],
  );
  return rows[0]?.removed === 1;
}

/**
 * Replaces the planner's samples of columns for which none are to be kept any more. ANALYZE skips such a column and leaves
 * samples that were taken before, with values that are erased by now. Only a superuser may delete them, so they are taken
 * again, as few as possible.
 */
async function sampleAgain(client: pg.PoolClient, relation: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT quote_ident(s.attname) AS name FROM pg_stats s
     JOIN pg_attribute a ON a.attrelid = $1::text::regclass AND a.attname = s.attname AND a.attstattarget = 0
     WHERE format('%I.%I', s.schemaname, s.tablename) = $1::text`,
    [relation],
  );
  if (rows.length === 0) return;
  const keep = (samples: number) =>
    `ALTER TABLE ${relation} ${rows.map(({ name }) => `ALTER ${name} SET STATISTICS ${samples}`).join(', ')}`;
  const columns = rows.map(({ name }) => name).join(', ');
  // One implicit transaction: no other ANALYZE sees the higher number.
  await client.query(`${keep(1)}; ANALYZE ${relation} (${columns}); ${keep(0)}`);
}
