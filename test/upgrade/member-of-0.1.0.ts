import pg from 'pg';
import { onTestFinished } from 'vitest';

/**
 * A member of a fleet as version 0.1.0 is one, as far as the database can tell: it sends the statements of that version,
 * word for word, and compares fences as that version does. Each rejects with the server's error.
 */
export interface OldMember {
  join(): Promise<void>;
  /** Sends a heartbeat. Returns false when the registration is gone; 0.1.0 then joins again. */
  beat(): Promise<boolean>;
  /** Begins a tick: takes the lease of the source and returns its fence. */
  takeLease(source: string): Promise<number>;
  /** Writes a page in a transaction: returns false when the fence is another one, and 0.1.0 then rolls back. */
  commitPage(source: string, fence: number): Promise<boolean>;
  leave(): Promise<void>;
}

export async function memberOf010(
  url: string,
  member: string,
  sources: readonly string[],
): Promise<OldMember> {
  const client = new pg.Client({ connectionString: url, types: { getTypeParser } });
  await client.connect();
  onTestFinished(() => client.end());
  const inTransaction = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await client.query('BEGIN');
    try {
      const result = await work();
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    }
  };
  return {
    join: async () => void (await client.query(join, [member, '0.1.0', sources])),
    beat: async () => ((await client.query(beat, [member])).rowCount ?? 0) > 0,
    takeLease: (source) =>
      inTransaction(async () => {
        await client.query(addSource, [source, 'f']);
        const { rows } = await client.query(lockSource, [source]);
        const held = await client.query(lockLease, [rows[0].no]);
        const fence = Number(held.rows[0]?.fence ?? 0) + 1;
        const expires = new Date(Date.now() + 30_000).toISOString();
        await client.query(takeLease, [rows[0].no, member, fence, expires]);
        return fence;
      }),
    commitPage: async (source, fence) => {
      try {
        await inTransaction(async () => {
          await client.query(lockSource, [source]);
          const { rows } = await client.query(behindSource, [source]);
          if (Number(rows[0].fence) !== fence) throw new LostLease();
          await client.query("UPDATE sources SET cursor = 'written by 0.1.0' WHERE name = $1", [source]);
        });
        return true;
      } catch (error) {
        if (error instanceof LostLease) return false;
        throw error;
      }
    },
    leave: async () => void (await client.query('DELETE FROM fleet_members WHERE member = $1', [member])),
  };
}

class LostLease extends Error {}

const getTypeParser = () => (text: string) => text;

const isAlive = (m: string) => `(${m}.seen_at >= fleet_clock(8000) AND ${m}.seen_at <= fleet_clock(-8000))`;

const join = `
  WITH forgotten AS (DELETE FROM fleet_members WHERE seen_at < fleet_clock(86400000) AND member <> $1)
  INSERT INTO fleet_members (member, version, sources, joined_at, seen_at)
  VALUES ($1, $2, $3, fleet_clock(), fleet_clock())
  ON CONFLICT (member) DO UPDATE SET sources = excluded.sources, seen_at = excluded.seen_at`;

const beat = `
  UPDATE fleet_members m SET seen_at = fleet_clock()
  FROM (SELECT member, ${isAlive('o')} AS alive FROM fleet_members o WHERE member = $1 FOR NO KEY UPDATE) before
  WHERE m.member = before.member RETURNING NOT before.alive AS late`;

const addSource = `INSERT INTO sources (name, fingerprint) SELECT $1, $2
   WHERE NOT EXISTS (SELECT 1 FROM sources WHERE name = $1) ON CONFLICT (name) DO NOTHING`;

const lockSource = 'SELECT * FROM sources WHERE name = $1 FOR NO KEY UPDATE';

const lockLease = `SELECT l.holder, l.fence, l.expires_at,
          EXISTS (SELECT 1 FROM fleet_members m WHERE m.member = l.holder AND NOT (${isAlive('m')})) AS silent
   FROM leases l WHERE source_no = $1 FOR UPDATE OF l`;

const takeLease = `INSERT INTO leases (source_no, holder, fence, expires_at) VALUES ($1, $2, $3, $4)
   ON CONFLICT (source_no) DO UPDATE
   SET holder = excluded.holder, fence = excluded.fence, expires_at = excluded.expires_at`;

const behindSource = `SELECT l.holder, l.fence, l.expires_at,
          to_regclass('investment_rows_investor') IS NOT NULL AS indexed,
          to_regclass('investment_rows_id') IS NOT NULL AS ids_indexed,
          ARRAY(SELECT id FROM forgotten) AS forgotten,
          (SELECT row_to_json(x) FROM listings x WHERE x.source_no = s.no) AS listing,
          (SELECT row_to_json(x) FROM sweeps x WHERE x.source_no = s.no) AS sweep,
          EXISTS (SELECT 1 FROM staged_rows x WHERE x.source_no = s.no) AS staged
   FROM sources s LEFT JOIN leases l ON l.source_no = s.no WHERE s.name = $1`;
