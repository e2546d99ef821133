import { instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import type { Scrubbed } from '../../erasures.js';
import { postgresFault, withPostgresFaults } from './faults.js';
import type { PostgresDatabase } from './open.js';
import { inTransaction } from './transaction.js';

/**
 * Rewrites the tables from which somebody was removed, with their indexes: a deleted row stays in its page until
 * another one needs the room, and a plain VACUUM only says that it may be overwritten. VACUUM FULL copies what is
 * alive into a new file and removes the old one. Each table is locked while that lasts, so it is done only for
 * those the triggers marked; the largest of them, history, only when unknown fields were erased in it.
 *
 * Waits for nobody. What an older transaction may still see is copied too, so while there is one nothing is
 * rewritten. Left are the write-ahead log, replicas and backups, which only their own retention ends.
 */
export async function scrub(database: PostgresDatabase, clock: Clock): Promise<Scrubbed> {
  const pending = await takePending(database, clock);
  if (pending === null) return { kind: 'clean' };
  const { last, marks, relations, horizon, waiting } = pending;
  const blocked: Scrubbed = { kind: 'blocked', erasures: waiting, rewritten: 0 };
  if (await isSeenByOthers(database, horizon)) return blocked;
  for (const relation of relations) if (!(await rewrite(database, relation))) return blocked;
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
  /** Number of the newest receipt and of the newest mark; what comes later is the next scrub's. */
  readonly last: number;
  readonly marks: number;
  readonly relations: readonly string[];
  /** Every removal among them is older than this transaction. */
  readonly horizon: string;
  readonly waiting: number;
}

/** Gives removals without a receipt one, so that a removal after this moment asks again. */
async function takePending(database: PostgresDatabase, clock: Clock): Promise<Pending | null> {
  return inTransaction(database, async (transaction) => {
    // Nobody removes anybody while the marks are counted, so that all of them are older than `horizon`.
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
 * Whether anybody may still see a row as it was before: a transaction of another session, one prepared, or a
 * replica that asks us to keep rows for it. A writer in another database sees none of ours, but the snapshot VACUUM
 * FULL itself takes reaches back to the oldest writer of the whole server, and what that one might see is copied.
 */
async function isSeenByOthers(database: PostgresDatabase, horizon: string): Promise<boolean> {
  const older = (column: string) => `${column} IS NOT NULL AND age(${column}) > age($1::xid8::xid)`;
  const { rows } = await withPostgresFaults(database.url, () =>
    database.pool.query(
      `SELECT 1 FROM pg_stat_activity
       WHERE pid <> pg_backend_pid()
         AND (${older('backend_xid')} OR (datname = current_database() AND ${older('backend_xmin')}))
       UNION ALL SELECT 1 FROM pg_prepared_xacts WHERE ${older('transaction')}
       UNION ALL SELECT 1 FROM pg_replication_slots WHERE ${older('xmin')}
       LIMIT 1`,
      [horizon],
    ),
  );
  return rows.length > 0;
}

/** Answers false when somebody reads or writes the table. */
async function rewrite({ pool, url }: PostgresDatabase, relation: string): Promise<boolean> {
  const client = await withPostgresFaults(url, () => pool.connect());
  let failed: Error | boolean = false;
  try {
    // VACUUM allows no transaction around it, so the setting is the session's until it is taken back.
    await client.query('SET lock_timeout = 200');
    await client.query(`VACUUM (FULL, ANALYZE) ${relation}`);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '55P03') return false;
    failed = error instanceof Error ? error : true;
    throw postgresFault(error, url);
  } finally {
    if (failed === false) await client.query('RESET lock_timeout').catch(() => {});
    client.release(failed);
  }
}
