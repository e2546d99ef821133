import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isFault } from '../../../../src/domain/fault.js';
import type { Instant } from '../../../../src/domain/instant.js';
import { readAsOf } from '../../../../src/store/dialect/sqlite/as-of.js';
import { prepareMasked } from '../../../../src/store/dialect/sqlite/judge-program.js';
import {
  closedTables,
  hiddenColumns,
  openTables,
} from '../../../../src/store/dialect/sqlite/masked-tables.js';
import { migrateSqlite } from '../../../../src/store/dialect/sqlite/migrate.js';
import { openSqlite } from '../../../../src/store/dialect/sqlite/open.js';
import { belowName, hideUnknownFields } from '../../../../src/store/dialect/sqlite/unknown-fields.js';
import { documentedQueries } from '../../../../src/store/documented-queries.js';
import { statementText } from '../../../../src/store/statement-text.js';
import { fillWithCanaries, showsPeople } from '../../support/canaries.js';
import { sqliteMirror } from '../../support/databases.js';
import { freshMirror, StandingClock } from '../../support/mirror.js';

/** Runs a masked query as the query process does. Returns everything a caller could see: columns, rows or the error. */
function masked(
  file: string,
  sql: string,
  asOf?: Instant,
): { readonly text: string; readonly refused: boolean } {
  const reader = openSqlite(file, { readonly: true });
  try {
    hideUnknownFields(reader.raw, asOf !== undefined);
    if (asOf !== undefined) readAsOf(reader.raw, asOf, belowName);
    const statement = prepareMasked(reader.raw, statementText(sql, 'flat'));
    const names = statement.columns().map(({ name }) => name);
    const rows = statement
      .all()
      .map((row) => row.map((cell) => (Buffer.isBuffer(cell) ? cell.toString() : cell)));
    return { text: [...names, ...rows.flat().map(String)].join('\n'), refused: false };
  } catch (error) {
    const { message } = error as Error;
    return { text: message, refused: isFault(error, 'usage') || error instanceof Sqlite.SqliteError };
  } finally {
    reader.close();
  }
}

/** A time after the first listing of the mirror. */
const then = '2026-10-10T00:00:00.000Z' as Instant;
const folder = mkdtempSync(join(tmpdir(), 'rosterd-masked-'));
const file = join(folder, 'mirror.db');

beforeAll(async () => {
  const database = openSqlite(file);
  migrateSqlite(database, { clock: new StandingClock(), version: '0.0.0-test' });
  // Adds value samples, such as ANALYZE by another program leaves behind.
  database.raw.exec('CREATE INDEX by_name ON identity_rows (name)');
  await fillWithCanaries(sqliteMirror(database));
  for (const table of ['investment_rows', 'history_rows', 'staged_rows'])
    database.raw.exec(`UPDATE ${table} SET extra = '{"nick":"Zq7Extra"}'`);
  database.raw.exec('ANALYZE');
  database.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Statements that read names when nothing is masked, or try to. */
const tricks: readonly string[] = [
  // Text that may precede a statement.
  'SELECT name, email FROM identities',
  ';SELECT name, email FROM identities',
  ';;; ;SELECT name FROM identities',
  '-- harmless\n;SELECT name FROM identities',
  '/* harmless */ ; SELECT name FROM identities',
  '\uFEFFSELECT name FROM identities',
  '\uFEFF;\uFEFFSELECT name FROM identities',
  '\t\f\r\n ;SELECT name FROM identities;',
  'SELECT 1\0; SELECT name FROM identities',
  'SELECT name FROM identities\0',
  'SELECT 1; SELECT name FROM identities',
  'select/**/name/**/from/**/identities',
  'SELECT name FROM "main"."identity_rows"',
  'SELECT name FROM [IDENTITY_ROWS]',
  'SELECT name FROM `Identity_Rows` INDEXED BY by_name',
  // Views, joins and subqueries.
  'SELECT * FROM roster',
  'SELECT legal_name FROM investments NATURAL JOIN identities',
  'SELECT (SELECT name FROM identity_rows WHERE row_no = r.row_no) FROM investment_rows r',
  "SELECT 1 FROM investment_rows WHERE EXISTS (SELECT 1 FROM identities WHERE name LIKE 'Zq7%')",
  'WITH people AS (SELECT * FROM identity_rows) SELECT hex(email) FROM people',
  'WITH people AS MATERIALIZED (SELECT * FROM identity_rows) SELECT email FROM people',
  'WITH RECURSIVE p(n, t) AS (SELECT 1, name FROM identity_rows UNION ALL SELECT n + 1, t FROM p WHERE n < 3) SELECT t FROM p',
  'SELECT id FROM investments UNION ALL SELECT name FROM identities',
  'SELECT id FROM investments EXCEPT SELECT name FROM identities',
  'VALUES ((SELECT max(name) FROM identity_rows))',
  'SELECT id FROM investments ORDER BY (SELECT name FROM identities LIMIT 1)',
  'SELECT id FROM investments LIMIT (SELECT length(name) FROM identities)',
  'SELECT sum(length(name)) OVER () FROM identities',
  'SELECT count(*) FROM identity_rows',
  'SELECT row_no FROM identity_rows',
  "SELECT max(rowid) FROM identity_rows WHERE name > 'Z'",
  // Functions and virtual tables.
  'SELECT group_concat(name) FROM identities',
  'SELECT json_group_array(email) FROM identities',
  'SELECT value FROM json_each((SELECT json_array(name) FROM identities))',
  'SELECT json_each.value FROM identity_rows, json_each(json_array(name))',
  "SELECT printf('%s', name) FROM identities",
  'SELECT abs(name) + json(name) FROM identities',
  "SELECT json_extract(name, '$') FROM identities",
  'SELECT substr(name, 1, 1), unicode(name) FROM identities',
  "SELECT * FROM dbstat WHERE name = 'identity_rows'",
  'SELECT * FROM dbstat AS json_each',
  'SELECT * FROM sqlite_dbpage',
  "SELECT * FROM bytecode('SELECT name FROM identities')",
  "SELECT * FROM pragma_integrity_check('identity_rows')",
  'SELECT * FROM pragma_quick_check AS pragma_table_info',
  "SELECT * FROM pragma_foreign_key_check('identity_rows')",
  "SELECT rtreecheck('main', 'identity_rows')",
  "SELECT load_extension('/tmp/none')",
  "SELECT fts3_tokenizer('simple')",
  'SELECT * FROM sqlite_stat4',
  'SELECT quote(sample) FROM main.sqlite_stat4',
  // Statements other than SELECT.
  'EXPLAIN SELECT name FROM identities',
  "EXPLAIN QUERY PLAN SELECT name FROM identities WHERE name = 'Zq7'",
  'EXPLAIN ;SELECT name FROM identities',
  'explain/**/query/**/plan/**/SELECT name FROM roster',
  'PRAGMA integrity_check(identity_rows)',
  'PRAGMA foreign_key_check(identity_rows)',
  'PRAGMA optimize',
  'PRAGMA wal_checkpoint',
  "ATTACH 'mirror.db' AS other",
  "VACUUM INTO '/tmp/rosterd-never-written.db'",
  'CREATE TEMP VIEW people AS SELECT * FROM identity_rows',
  'BEGIN',
  'DELETE FROM identity_rows RETURNING name',
  'UPDATE identity_rows SET name = name RETURNING name',
  // Other tables that contain personal data.
  'SELECT body FROM quarantine',
  'WITH q AS (SELECT body FROM quarantine) SELECT * FROM q',
  'SELECT * FROM quarantine_rows',
  'SELECT body FROM quarantine_rows ORDER BY quarantine_no DESC',
  'SELECT identity FROM staged_rows',
  "SELECT * FROM staged_rows WHERE id = 'inv_2'",
  "SELECT id FROM staged_rows WHERE identity LIKE '%Zq7%'",
  "SELECT json_extract(identity, '$.name') FROM staged_rows",
  'SELECT body FROM webhook_inbox',
  'SELECT * FROM (SELECT * FROM webhook_inbox) ORDER BY event_id',
  'SELECT max(body) FROM webhook_inbox GROUP BY event',
  'SELECT id FROM forgotten',
  'SELECT token FROM budgets',
  // Unbound parameters.
  'SELECT name FROM identities WHERE id = ?',
  'SELECT ?1, :name, $name',
  '',
];

describe('with names masked', () => {
  test('there are at least 44 distinct attempts to read names', () => {
    expect(new Set(tricks).size).toBe(tricks.length);
    expect(tricks.length).toBeGreaterThanOrEqual(44);
  });

  test.each(tricks.map((sql) => [sql]))('masked, %j is refused and reveals no names', (sql) => {
    const { text, refused } = masked(file, sql);
    expect(showsPeople(text)).toBe(false);
    expect([sql, refused]).toEqual([sql, true]);
  });

  test.each([
    ...tricks,
    'SELECT name FROM temp.identities',
    'SELECT name FROM temp.roster',
    'SELECT name FROM main.roster',
    'SELECT body FROM main.quarantine',
    'SELECT body FROM main.webhook_inbox',
    'SELECT identity FROM main.staged_rows',
    'SELECT sql FROM sqlite_temp_schema',
    'SELECT * FROM temp.sqlite_master',
    'SELECT t.id, p.name FROM investments t JOIN main.identities p USING (source, id)',
  ])('masked and as of a past time, %j is refused and reveals no names', (sql) => {
    const { text, refused } = masked(file, sql, then);
    expect(showsPeople(text)).toBe(false);
    expect([sql, refused]).toEqual([sql, true]);
  });

  test.each([
    'SELECT * FROM investments, main.sync_status',
    'SELECT * FROM investment_history',
    'SELECT * FROM changes',
    'SELECT * FROM round_totals JOIN daily_raised USING (source, company_id) JOIN investor_totals USING (source)',
    'EXPLAIN QUERY PLAN SELECT * FROM round_totals',
  ])('masked and as of a past time, %s is allowed', (sql) => {
    expect(masked(file, sql, then)).toMatchObject({ refused: false });
  });

  test.each([
    ...[
      'SELECT * FROM investments',
      'SELECT * FROM incoming',
      ';-- first\nSELECT count(*) AS n FROM changes',
    ],
    'SELECT id, problem, seen_at FROM quarantine',
    'SELECT quarantine_no, problem FROM quarantine_rows ORDER BY seen_at DESC',
    'SELECT event, state FROM webhook_inbox ORDER BY received_at',
    'SELECT id, status FROM staged_rows',
    'SELECT count(*) FROM webhook_inbox',
    "SELECT count(*) FROM investments WHERE status <> 'identity_rows'",
    'SELECT * FROM sync_status JOIN sources ON sources.name = sync_status.source',
    'SELECT key, value FROM investments, json_each(investments.extra)',
    "SELECT m.name, p.name FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.name = 'identity_rows'",
    "SELECT a.value, b.fullkey FROM json_each('[1]') a, json_tree('{}') b, json_each('[2]') c",
    'SELECT median(committed_cents), group_concat(id), row_number() OVER (ORDER BY id) FROM investments',
    'WITH RECURSIVE n(i) AS (VALUES (1) UNION SELECT i + 1 FROM n WHERE i < 5 ORDER BY 1) SELECT i FROM n',
    'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 9) SELECT i FROM n',
    'SELECT status, group_concat(DISTINCT id) FILTER (WHERE visible) FROM investments GROUP BY status HAVING count(*) > 0 ORDER BY 2 DESC LIMIT 3 OFFSET 1',
    'SELECT lag(id) OVER (PARTITION BY status ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), ntile(4) OVER (ORDER BY id) FROM investments',
    "SELECT a.id FROM investments a LEFT JOIN investment_history h USING (source, id) WHERE a.id IN (SELECT id FROM changes) OR a.status = 'active' OR a.offering_id = 'ofr_1'",
    "SELECT a.id FROM investments a RIGHT JOIN investments b ON a.id = b.converted_from WHERE b.id NOT IN (VALUES ('x'))",
    "SELECT CASE WHEN typeof(raised_cents) = 'integer' THEN round(raised_cents / 100.0, 2) END, strftime('%Y', applied_at), extra ->> 'tier' FROM investments",
    'SELECT DISTINCT company_id FROM investments UNION SELECT offering_id FROM investments ORDER BY 1',
    'SELECT status FROM investments INTERSECT SELECT status FROM investment_history',
    'PRAGMA table_info(identity_rows)',
    'PRAGMA user_version',
    'EXPLAIN SELECT * FROM investments',
    'EXPLAIN QUERY PLAN SELECT * FROM investments',
  ])('masked, %s is allowed', (sql) => {
    expect(masked(file, sql)).toMatchObject({ refused: false });
  });

  test.each([
    'SELECT extra FROM main.investments',
    'SELECT * FROM main.investments',
    'SELECT before FROM main.changes',
    'SELECT extra FROM main.investment_history',
    'SELECT extra FROM main.incoming',
    'SELECT extra FROM investment_rows',
    'SELECT * FROM investment_rows',
    'SELECT count(*) FROM history_rows WHERE extra IS NOT NULL',
    'SELECT extra FROM staged_rows',
    'SELECT extra FROM main.analytics_investments',
    'EXPLAIN SELECT extra FROM main.investments',
  ])('masked, %s is refused: an unknown field may name a person', (sql) => {
    for (const asOf of [undefined, then]) {
      const { text, refused } = masked(file, sql, asOf);
      expect([sql, refused, text.includes('Zq7Extra')]).toEqual([sql, true, false]);
    }
  });

  test.each([
    'SELECT * FROM investments',
    'SELECT * FROM investment_history',
    'SELECT * FROM incoming',
    'SELECT * FROM changes',
    'SELECT * FROM analytics_investments',
    'SELECT extra FROM investments WHERE extra IS NOT NULL',
    "SELECT json_group_array(extra) FROM investments, json_each('[1]')",
  ])('masked, %s shows unknown fields as null, and the same rows', (sql) => {
    const reader = openSqlite(file, { readonly: true });
    const count = reader.raw.prepare<[], number>(`SELECT count(*) FROM (${sql})`).pluck().get();
    reader.close();
    for (const asOf of [undefined, then]) {
      if (asOf !== undefined && /incoming/.test(sql)) continue;
      const { text, refused } = masked(file, sql, asOf);
      expect([sql, asOf, refused, text.includes('Zq7Extra')]).toEqual([sql, asOf, false, false]);
      const rows = masked(file, `SELECT count(*) FROM (${sql})`, asOf).text.split('\n').at(-1);
      if (asOf === undefined && !/WHERE/.test(sql)) expect(Number(rows)).toBe(count);
    }
  });

  test.each(documentedQueries.map(({ name, sql, identity }) => [name, sql, identity] as const))(
    'masked, the documented query %s works unless it reads identity',
    (_, sql, identity) => {
      const { text, refused } = masked(file, sql);
      expect([refused, showsPeople(text)]).toEqual([identity, false]);
    },
  );

  test('masking still works after VACUUM has moved the tables', () => {
    const writer = openSqlite(file);
    writer.raw.exec('VACUUM');
    writer.close();
    expect(masked(file, 'SELECT name FROM identity_rows').refused).toBe(true);
    expect(masked(file, 'SELECT id FROM investments').refused).toBe(false);
  });

  test('a table without a masking rule is refused', () => {
    const mirror = freshMirror();
    mirror.raw.exec("CREATE TABLE guests (name TEXT); INSERT INTO guests VALUES ('Zq7Canary')");
    expect(masked(mirror.file, 'SELECT * FROM guests')).toMatchObject({ refused: true });
  });

  test('every table has exactly one masking rule: open, hidden columns or closed', () => {
    const mirror = freshMirror();
    const tables = mirror.raw
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all();
    const decisions = (table: string) =>
      [openTables.has(table), table in hiddenColumns, closedTables.has(table)].filter(Boolean).length;
    expect(tables.filter((table) => decisions(table) !== 1)).toEqual([]);
    for (const [table, columns] of Object.entries(hiddenColumns)) {
      const names = mirror.raw.prepare<[], { name: string }>(`PRAGMA table_info(${table})`).all();
      expect(names.map(({ name }) => name)).toEqual(expect.arrayContaining([...columns]));
    }
  });
});
