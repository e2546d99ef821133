import Sqlite from 'better-sqlite3';
import { Agent, fetch } from 'undici';
import { parseInvestment } from '../../src/client/parse-investment.js';
import type { FeedItem } from '../../src/domain/investment.js';
import { recordColumns, recordValues } from '../../src/store/record-columns.js';

/** A mirror that does the least that could be called one: no identity, no secondary index, no checks, no history. */
export interface Floor {
  page(url: string): Promise<boolean>;
  readonly db: Sqlite.Database;
  close(): Promise<void>;
}

export interface FloorOptions {
  readonly pagesPerCommit: number;
  readonly cacheKibibytes: number | null;
  readonly synchronous: 'NORMAL' | 'FULL';
}

/** Fetch, parse, one prepared upsert of the same columns, a commit a page, the defaults of SQLite. */
export const naive: FloorOptions = { pagesPerCommit: 1, cacheKibibytes: null, synchronous: 'NORMAL' };
/** The same with several pages a commit, a larger cache and checkpoints farther apart. */
export const tuned: FloorOptions = { pagesPerCommit: 10, cacheKibibytes: 65_536, synchronous: 'FULL' };

interface Answer {
  readonly data: readonly unknown[];
  readonly meta: { readonly has_more: boolean; readonly next_cursor: string };
}

export function openFloor(file: string, options: FloorOptions): Floor {
  const db = new Sqlite(file);
  if (options.cacheKibibytes !== null) db.pragma('page_size = 8192');
  db.pragma('journal_mode = WAL');
  db.pragma(`synchronous = ${options.synchronous}`);
  if (options.cacheKibibytes !== null) {
    db.pragma(`cache_size = -${options.cacheKibibytes}`);
    db.pragma(`wal_autocheckpoint = ${options.cacheKibibytes / 8}`);
  }
  db.exec(
    `CREATE TABLE rows (id TEXT PRIMARY KEY, ${recordColumns.join(', ')}); CREATE TABLE at (cursor TEXT)`,
  );
  db.prepare('INSERT INTO at VALUES (NULL)').run();
  const columns = ['id', ...recordColumns];
  const upsert = db.prepare(
    `INSERT INTO rows (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
     ON CONFLICT (id) DO UPDATE SET ${recordColumns.map((name) => `${name} = excluded.${name}`).join(', ')}`,
  );
  const save = db.prepare('UPDATE at SET cursor = ?');
  const agent = new Agent({ connections: 1 });
  let cursor: string | null = null;
  let pages = 0;
  return {
    db,
    page: async (url) => {
      const response = await fetch(cursor === null ? url : `${url}&cursor=${cursor}`, { dispatcher: agent });
      const { data, meta } = (await response.json()) as Answer;
      const items: FeedItem[] = data.map((one) => parseInvestment(one, () => ''));
      if (!db.inTransaction) db.exec('BEGIN IMMEDIATE');
      for (const item of items)
        if (item.kind === 'record') upsert.run(item.investment.id, ...recordValues(item.investment));
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
