import { onTestFinished } from 'vitest';
import type { PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';

/** Another host that holds the row lock of the source. Every other writer waits until `commit`. */
export async function otherHost({ pool }: PostgresDatabase) {
  const client = await pool.connect();
  let open = true;
  const commit = async (sql?: string) => {
    if (sql !== undefined) await client.query(sql);
    await client.query('COMMIT');
    open = false;
  };
  onTestFinished(async () => {
    if (open) await client.query('ROLLBACK');
    client.release();
  });
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM sources FOR UPDATE');
  return { commit };
}

/** Resolves once this many sessions of the database wait for a lock. */
export async function waiting({ pool }: PostgresDatabase, sessions: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ waits: number }>(
      `SELECT count(*) AS waits FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (rows[0]?.waits === sessions) return;
  }
}
