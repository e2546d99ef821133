import type pg from 'pg';

/**
 * Checks the tables and B-tree indexes of a database with PostgreSQL's own `amcheck`, as the program `pg_amcheck` does with
 * `--heapallindexed`, and reads every table. Returns what it finds first, or null.
 */
export async function damageOf(client: pg.Client): Promise<string | null> {
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS amcheck');
    const { rows: heaps } = await client.query<{ told: string }>(
      `SELECT format('%s block %s: %s', c.oid::regclass, v.blkno, v.msg) AS told
       FROM pg_class c JOIN pg_am a ON a.oid = c.relam CROSS JOIN LATERAL verify_heapam(c.oid) v
       WHERE c.relkind IN ('r', 't', 'm') AND a.amname = 'heap' AND c.relpersistence = 'p' LIMIT 1`,
    );
    if (heaps[0] !== undefined) return heaps[0].told;
    await client.query(
      `SELECT bt_index_check(i.indexrelid, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       JOIN pg_am a ON a.oid = c.relam
       WHERE a.amname = 'btree' AND c.relpersistence = 'p' AND i.indisready AND i.indisvalid`,
    );
    return null;
  } catch (error) {
    return String(error);
  }
}
