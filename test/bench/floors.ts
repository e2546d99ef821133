import Sqlite from 'better-sqlite3';
import { Agent, fetch } from 'undici';
import { floorColumns, floorValues } from './floor-columns.js';

/** A mirror with the minimum of work: no checks, no history, no visibility, no lease. */
export interface Floor {
  /** Fetches and writes the next page. Returns whether there are more. */
  page(): Promise<boolean>;
  readonly db: Sqlite.Database;
  close(): Promise<void>;
}

export interface FloorOptions {
  readonly pagesPerCommit: number;
  readonly cacheKibibytes: number | null;
  readonly synchronous: 'NORMAL' | 'FULL';
}

/**
 * Fetch, parse, and one prepared upsert of the same columns, including identity, into one table. Commits each page
 * with its cursor, with SQLite's defaults, WAL and `synchronous=NORMAL`, and no secondary index. It keeps no raw
 * text, which makes it faster and smaller than a mirror that does.
 */
export const naive: FloorOptions = { pagesPerCommit: 1, cacheKibibytes: null, synchronous: 'NORMAL' };
/** The same with `synchronous=FULL`, which a single change needs to be durable. */
export const lasting: FloorOptions = { ...naive, synchronous: 'FULL' };
/** The same with ten pages a commit, a 64 MB cache and checkpoint interval, 8 KB pages, and FULL. */
export const tuned: FloorOptions = { pagesPerCommit: 10, cacheKibibytes: 65_536, synchronous: 'FULL' };

/** The indexes analysts need, built once after all rows are inserted. */
export const suitableIndexes = `
  CREATE INDEX by_status ON rows (status, currency, raised_cents);
  CREATE INDEX by_day ON rows (applied_at, currency, raised_cents);
  CREATE INDEX by_investor ON rows (investor_id, currency, raised_cents);
  CREATE INDEX by_offering ON rows (offering_id, currency, raised_cents, in_escrow_cents);`;

interface Answer {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly meta: { readonly has_more: boolean; readonly next_cursor: string };
}

export const feedPath = '/investments?company_id=co_bench&per_page=100';

export function openFloor(file: string, baseUrl: string, options: FloorOptions): Floor {
  const db = new Sqlite(file);
  if (options.cacheKibibytes !== null) db.pragma('page_size = 8192');
  db.pragma('journal_mode = WAL');
  db.pragma(`synchronous = ${options.synchronous}`);
  if (options.cacheKibibytes !== null) {
    db.pragma(`cache_size = -${options.cacheKibibytes}`);
    db.pragma(`wal_autocheckpoint = ${options.cacheKibibytes / 8}`);
  }
  const [, ...others] = floorColumns;
  db.exec(`CREATE TABLE rows (id TEXT PRIMARY KEY, ${others.join(', ')}); CREATE TABLE at (cursor TEXT)`);
  db.prepare('INSERT INTO at VALUES (NULL)').run();
  const upsert = db.prepare(
    `INSERT INTO rows (${floorColumns.join(', ')}) VALUES (${floorColumns.map(() => '?').join(', ')})
     ON CONFLICT (id) DO UPDATE SET ${others.map((name) => `${name} = excluded.${name}`).join(', ')}`,
  );
  const save = db.prepare('UPDATE at SET cursor = ?');
  const agent = new Agent({ connections: 1 });
  const url = `${baseUrl}${feedPath}`;
  let cursor: string | null = null;
  let pages = 0;
  return {
    db,
    page: async () => {
      const response = await fetch(cursor === null ? url : `${url}&cursor=${cursor}`, { dispatcher: agent });
      const { data, meta } = (await response.json()) as Answer;
      if (!db.inTransaction) db.exec('BEGIN IMMEDIATE');
      for (const record of data) upsert.run(floorValues(record));
      cursor = meta.next_cursor;
      save.run(cursor);
      pages += 1;
      if (pages % options.pagesPerCommit === 0 || !meta.has_more) db.exec('COMMIT');
      return meta.has_more;
    },
    close: async () => {
      db.close();
      await agent.destroy();
    },
  };
}
