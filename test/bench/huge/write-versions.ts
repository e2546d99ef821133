import Sqlite from 'better-sqlite3';
import { daysAgo, numberOf, spreadDays, timeOf, type VersionPlan, versionSql } from './planned-versions.js';

/*
 * Writes superseded versions and their changes as ticks would have left them, but with few statements. Indexes are built
 * afterwards.
 */

/** Writes `each` versions of every record of a SQLite mirror. Call it once, after the first listing. */
export function writeVersions(file: string, each: number): void {
  if (each === 0) return;
  const raw = new Sqlite(file);
  try {
    raw.pragma('synchronous = OFF');
    raw.pragma('temp_store = FILE');
    const indexes = raw
      .prepare(
        `SELECT name, sql FROM sqlite_schema
         WHERE type = 'index' AND tbl_name IN ('history_rows', 'change_rows') AND sql IS NOT NULL`,
      )
      .all() as { readonly name: string; readonly sql: string }[];
    // The first listing was long ago: versions may not end in the future. Setting it again runs no trigger.
    raw.prepare('UPDATE sources SET listed_at = ? WHERE listed_at IS NOT NULL').run(daysAgo(spreadDays + 1));
    // What the planner knows of an index is deleted with it.
    raw.exec('CREATE TEMP TABLE known AS SELECT * FROM main.sqlite_stat1');
    for (const { name } of indexes) raw.exec(`DROP INDEX ${name}`);
    const { last, rows } = raw
      .prepare(
        `SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'change_rows') AS last,
                (SELECT max(row_no) FROM investment_rows) AS rows`,
      )
      .get() as { readonly last: number; readonly rows: number };
    const plan: VersionPlan = { last, rows, each, begun: daysAgo(spreadDays), row: 'row_no', later };
    for (let version = 1; version <= each; version += 1)
      raw.exec(versionSql(version, plan, 'investment_rows', 'ORDER BY row_no'));
    raw.exec(`UPDATE investment_rows
      SET valid_from = ${timeOf(each, plan)}, change_seq = ${numberOf(each, plan)}, reason = 'changed'`);
    for (const { sql } of indexes) raw.exec(sql);
    raw.exec('DELETE FROM main.sqlite_stat1; INSERT INTO main.sqlite_stat1 SELECT * FROM temp.known');
    raw.exec('ANALYZE sqlite_schema');
    raw.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    raw.close();
  }
}

const later = (begun: string, seconds: string) =>
  `strftime('%Y-%m-%dT%H:%M:%fZ', '${begun}', '+' || ${seconds} || ' seconds')`;
