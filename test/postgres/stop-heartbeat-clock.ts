import type pg from 'pg';

/**
 * Stops the clock that timestamps and judges heartbeats in this database, so that no member is considered dead because
 * the machine was busy for eight seconds. Heartbeats move only when a test writes them.
 */
export async function stopHeartbeatClock(pool: Pick<pg.Pool, 'query'>): Promise<void> {
  await pool.query(`
    CREATE OR REPLACE FUNCTION fleet_clock(ago_millis bigint DEFAULT 0) RETURNS text LANGUAGE sql VOLATILE AS $$
      SELECT to_char(timestamp '2026-11-20 12:00:00' - ago_millis * interval '1 millisecond',
                     'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') COLLATE "C"
    $$`);
}
