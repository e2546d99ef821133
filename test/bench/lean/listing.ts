import { statSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Agent } from 'undici';
import { floorColumns, floorValues } from '../floor-columns.js';
import { feedPath, suitableIndexes, tuned } from '../floors.js';
import type { Result, Stage } from '../variants.js';
import { getText } from './client.js';

interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly meta: { readonly has_more: boolean; readonly next_cursor: string };
}

/**
 * The lean floor of a first listing: requests the next page before it writes this one, appends to a rowid table with
 * the settings of the tuned floor, and builds every index at the end, the unique one on ids included.
 */
export async function leanBootstrap({ baseUrl, folder }: Stage): Promise<Result> {
  const file = join(folder, 'lean.db');
  const db = new Sqlite(file);
  db.pragma('page_size = 8192');
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma(`cache_size = -${tuned.cacheKibibytes}`);
  db.pragma(`wal_autocheckpoint = ${(tuned.cacheKibibytes ?? 0) / 8}`);
  db.exec(`CREATE TABLE rows (row_no INTEGER PRIMARY KEY, ${floorColumns.join(', ')});
    CREATE TABLE at (cursor TEXT); INSERT INTO at VALUES (NULL)`);
  const insert = db.prepare(
    `INSERT INTO rows (${floorColumns.join(', ')}) VALUES (${floorColumns.map(() => '?').join(', ')})`,
  );
  const save = db.prepare('UPDATE at SET cursor = ?');
  const agent = new Agent({ connections: 1 });
  const began = performance.now();
  let pages = 0;
  for (let next: Promise<string> | null = getText(agent, baseUrl, feedPath); next !== null; ) {
    const { data, meta }: Page = JSON.parse(await next);
    next = meta.has_more ? getText(agent, baseUrl, `${feedPath}&cursor=${meta.next_cursor}`) : null;
    if (!db.inTransaction) db.exec('BEGIN IMMEDIATE');
    for (const record of data) insert.run(floorValues(record));
    save.run(meta.next_cursor);
    pages += 1;
    if (pages % tuned.pagesPerCommit === 0 || next === null) db.exec('COMMIT');
  }
  db.exec(`CREATE UNIQUE INDEX by_id ON rows (id); ${suitableIndexes}`);
  const seconds = (performance.now() - began) / 1000;
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  await agent.destroy();
  return { seconds: [seconds], bytes: [statSync(file).size] };
}
