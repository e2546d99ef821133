import Sqlite from 'better-sqlite3';
import { Agent } from 'undici';
import { floorColumns, floorValues } from '../floor-columns.js';
import { getText } from './client.js';

/*
 * The lean floors: the least program that does the same durable work as the product. It fetches with `dispatch`,
 * prepares every statement once, and commits with `synchronous=FULL`. It checks nothing but the signature of a
 * delivery, and has neither history nor leases nor a budget.
 */

interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly meta: { readonly has_more: boolean; readonly next_cursor: string };
}

export interface LeanMirror {
  /** Reads the listing of a source to its end. */
  list(source: number): Promise<void>;
  /**
   * Reads one page behind the cursor. One commit writes its records, the cursor, and the inbox row of the event that
   * caused it: settles the row `event`, or inserts one when it is null.
   */
  tick(source: number, event: number | null): Promise<void>;
  /** Stores a delivery in a commit of its own. Returns the number of its row. */
  accept(source: number, body: Buffer): number;
  close(): Promise<void>;
}

/** Reads one row by its source and id, to see from another connection what is committed. */
export const leanRowSql = 'SELECT committed_cents FROM rows WHERE source = ? AND id = ?';

export const leanColumns = floorColumns.join(', ');

export const feedPathOf = (company: string): string => `/investments?company_id=${company}&per_page=100`;

export function openLean(file: string, feedUrl: string, companies: readonly string[]): LeanMirror {
  const db = new Sqlite(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  const [, ...others] = floorColumns;
  db.exec(`
    CREATE TABLE rows (row_no INTEGER PRIMARY KEY, source INTEGER, ${leanColumns});
    CREATE UNIQUE INDEX by_id ON rows (source, id);
    CREATE TABLE cursors (source INTEGER PRIMARY KEY, cursor TEXT);
    CREATE TABLE inbox (no INTEGER PRIMARY KEY, source INTEGER, body BLOB, done INTEGER)`);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const upsert = db.prepare(
    `INSERT INTO rows (source, ${leanColumns}) VALUES (?, ${floorColumns.map(() => '?').join(', ')})
     ON CONFLICT (source, id) DO UPDATE SET ${others.map((name) => `${name} = excluded.${name}`).join(', ')}`,
  );
  const save = db.prepare('INSERT OR REPLACE INTO cursors VALUES (?, ?)');
  const insertEvent = db.prepare('INSERT INTO inbox (source, body, done) VALUES (?, ?, ?)');
  const settle = db.prepare('UPDATE inbox SET done = 1 WHERE no = ?');
  const agent = new Agent({ connections: 8 });
  const cursors: (string | undefined)[] = companies.map(() => undefined);

  const page = async (source: number): Promise<Page> => {
    const path = feedPathOf(companies[source] ?? '');
    const cursor = cursors[source];
    const text = await getText(agent, feedUrl, cursor === undefined ? path : `${path}&cursor=${cursor}`);
    return JSON.parse(text) as Page;
  };
  const write = (source: number, { data, meta }: Page) => {
    for (const record of data) upsert.run(source, ...floorValues(record));
    save.run(source, meta.next_cursor);
    cursors[source] = meta.next_cursor;
  };
  return {
    list: async (source) => {
      for (let more = true; more; ) {
        const read = await page(source);
        begin.run();
        write(source, read);
        commit.run();
        more = read.meta.has_more;
      }
    },
    tick: async (source, event) => {
      const read = await page(source);
      begin.run();
      write(source, read);
      if (event === null) insertEvent.run(source, null, 1);
      else settle.run(event);
      commit.run();
    },
    accept: (source, body) => Number(insertEvent.run(source, body, 0).lastInsertRowid),
    close: async () => {
      db.close();
      await agent.destroy();
    },
  };
}
