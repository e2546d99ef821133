import Sqlite from 'better-sqlite3';
import { recordColumns } from '../../../src/store/record-columns.js';

/*
 * Writes superseded versions and their changes as ticks would have left them, but with few statements: each version of a
 * record differs in `committed_cents`, ended by an update, and has its entry in the change feed. The rows come in the
 * order of the change feed, a hundred to a commit time. Indexes are built afterwards.
 */

/** The time between the first listing and now over which the changes are spread. */
const spreadDays = 360;

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
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
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
    const base = { last, rows, each, begun: daysAgo(spreadDays) };
    for (let version = 1; version <= each; version += 1) raw.exec(versionSql(version, base));
    raw.exec(`UPDATE investment_rows
      SET valid_from = ${timeOf(each, base)}, change_seq = ${numberOf(each, base)}, reason = 'changed'`);
    for (const { sql } of indexes) raw.exec(sql);
    raw.exec('DELETE FROM main.sqlite_stat1; INSERT INTO main.sqlite_stat1 SELECT * FROM temp.known');
    raw.exec('ANALYZE sqlite_schema');
    raw.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    raw.close();
  }
}

interface Base {
  /** The last change before these. */
  readonly last: number;
  readonly rows: number;
  readonly each: number;
  /** The time of the first change. */
  readonly begun: string;
}

/** The number of the change that ended version `version` of a row. */
const numberOf = (version: number, { last, rows }: Base) => `${last + (version - 1) * rows} + row_no`;

function timeOf(version: number, { rows, each, begun }: Base): string {
  const share = `(${version - 1} + row_no / 100 * 100.0 / ${rows}) / ${each}`;
  return `strftime('%Y-%m-%dT%H:%M:%fZ', '${begun}', '+' || (${share} * ${spreadDays * 86_000}) || ' seconds')`;
}

function versionSql(version: number, base: Base): string {
  const [from, seq] =
    version === 1
      ? ['s.listed_at', 's.listed_seq']
      : [timeOf(version - 1, base), numberOf(version - 1, base)];
  const values = recordColumns.map((column) =>
    column === 'committed_cents'
      ? `r.committed_cents - ${base.each - version + 1}`
      : column === 'reason'
        ? version === 1
          ? 'NULL'
          : "'changed'"
        : `r.${column}`,
  );
  return `
    INSERT INTO change_rows (seq, source_no, id, kind, fields, reason, at)
    SELECT ${numberOf(version, base)}, source_no, id, 'changed', '["committed_cents"]', 'changed', ${timeOf(version, base)}
    FROM investment_rows ORDER BY row_no;
    INSERT INTO history_rows (source_no, id, ${recordColumns.join(', ')}, valid_from, change_seq, valid_to, ended_by)
    SELECT r.source_no, r.id, ${values.join(', ')}, ${from}, ${seq}, ${timeOf(version, base)}, 'update'
    FROM investment_rows r CROSS JOIN sources s ON s.no = r.source_no ORDER BY r.row_no;`;
}
