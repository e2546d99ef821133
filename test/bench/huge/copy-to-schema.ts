import Sqlite from 'better-sqlite3';
import { systemClock } from '../../../src/runtime/clock.js';
import { migrateSqlite } from '../../../src/store/dialect/sqlite/migrate.js';
import { openSqlite } from '../../../src/store/dialect/sqlite/open.js';
import { shippedMigrations } from '../../../src/store/migrate.js';

/**
 * Copies a mirror into a new file with the schema of an earlier version, as that version would have left it: every table
 * of that schema with the columns it had, and its indexes.
 */
export function copyToSchema(from: string, to: string, schema: number): void {
  const opened = openSqlite(to);
  const migrations = shippedMigrations('sqlite').filter(({ number }) => number <= schema);
  migrateSqlite(opened, { clock: systemClock, version: 'earlier', migrations });
  opened.close();
  const raw = new Sqlite(to);
  try {
    raw.pragma('synchronous = OFF');
    raw.pragma('foreign_keys = OFF');
    raw.pragma('temp_store = FILE');
    raw.prepare('ATTACH ? AS mirror').run(from);
    const named = (sql: string) =>
      raw.prepare(sql).all() as { readonly name: string; readonly sql: string }[];
    const later = named(
      "SELECT name, sql, type FROM sqlite_schema WHERE type IN ('trigger') AND sql IS NOT NULL",
    );
    const indexes = named("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL");
    for (const { name } of later) raw.exec(`DROP TRIGGER ${name}`);
    for (const { name } of indexes) raw.exec(`DROP INDEX ${name}`);
    const tables = named(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%'",
    );
    for (const { name } of tables) copyTable(raw, name);
    const listed = named(
      `SELECT name, sql FROM mirror.sqlite_schema
       WHERE type = 'index' AND tbl_name = 'investment_rows' AND sql IS NOT NULL`,
    );
    for (const { sql } of [...indexes, ...listed])
      raw.exec(sql.replace(/ INDEX (?!IF)/, ' INDEX IF NOT EXISTS '));
    for (const { sql } of later) raw.exec(sql);
    raw.exec('DETACH mirror');
  } finally {
    raw.close();
  }
}

/** The ledger of migrations stays that of the earlier version. */
const kept = new Set(['migrations', 'data_dictionary']);

function copyTable(raw: Sqlite.Database, table: string): void {
  if (kept.has(table)) return;
  const columnsIn = (schema: string) =>
    raw.prepare(`SELECT name FROM pragma_table_info(?, ?)`).pluck().all(table, schema) as string[];
  const present = new Set(columnsIn('mirror'));
  const columns = columnsIn('main').filter((name) => present.has(name));
  if (columns.length === 0) return;
  raw.exec(`DELETE FROM main.${table}`);
  raw.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM mirror.${table}`);
}
