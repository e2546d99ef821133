import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { upgradeSqlite } from '../../src/store/dialect/sqlite/upgrade.js';
import { newestMigration } from '../../src/store/newest-migration.js';
import { tempFolder } from '../store/temp-folder.js';
import { bytesOf, copyFiles, dumpOf, withCrashPoints } from './sqlite-crashes.js';
import { statementsOf } from './statements.js';
import { unpacked, writtenVersions } from './written.js';

const clock = { now: () => Date.parse('2026-11-24T12:00:00.000Z'), monotonic: () => 0, wait: async () => {} };
const options = { clock, version: '0.0.0-test' };

test('statements: a text is split at each semicolon that ends a statement', () => {
  const statements = [
    "INSERT INTO a VALUES ('x;', 'it''s;');",
    '\n-- a comment; with one\nCREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE WHEN 1 THEN 2 END; SELECT 3; END;',
    '\nDO $f$ BEGIN; END $f$;',
  ];
  expect(statementsOf(`${statements.join('')}\n-- the end`)).toEqual(statements);
});

/** Versions with an older schema: the others need no upgrade. */
const older = writtenVersions.filter(({ migrations }) => migrations.sqlite < newestMigration('sqlite'));
const starts = [
  { version: 'an empty file', write: () => Buffer.alloc(0) },
  ...older.map(({ version }) => ({ version, write: () => unpacked(version, 'mirror.db') })),
];

/*
 * Copies the files after every statement of every migration, of the descriptions and of the indexes. A copy is what
 * a kill at that moment leaves. Its ledger says which migration it has, and everything in it must be of that one.
 */
test.each(starts)(
  'a kill at any statement of an upgrade leaves the old or the new schema, and the next start completes it ($version)',
  ({ write }) => {
    const folder = tempFolder();
    const [file, copy] = [join(folder, 'mirror.db'), join(folder, 'copy.db')];
    writeFileSync(file, write(), { mode: 0o600 });
    const states = new Map<string, string>();
    const perLedger = new Map<number, Set<string>>();
    let points = 0;
    let last = '';
    const database = openSqlite(file);
    onTestFinished(() => database.close());
    const watched = withCrashPoints(database, () => {
      points += 1;
      // Most statements change pages in memory only: a kill then leaves what the one before left.
      const bytes = bytesOf(file);
      if (bytes === last) return;
      last = bytes;
      copyFiles(file, copy);
      const dump = dumpOf(copy);
      const state = createHash('sha256').update(JSON.stringify(dump)).digest('hex');
      const ledger = ledgerOf(copy);
      perLedger.set(ledger, (perLedger.get(ledger) ?? new Set()).add(state));
      if (states.has(state)) return;
      const kept = join(folder, `state-${states.size}.db`);
      copyFiles(copy, kept);
      states.set(state, kept);
    });
    const { ran } = upgradeSqlite(watched, options);
    database.close();
    const wanted = dumpOf(file);
    expect(wanted.filter((line) => line.includes('_check: '))).toEqual([]);
    expect(points).toBeGreaterThan(ran.length * 4);
    const newest = Math.max(...perLedger.keys());
    // Only the newest schema has more than one state: described or not, and one for each further index.
    for (const [ledger, seen] of perLedger)
      if (ledger !== newest) expect([ledger, seen.size]).toEqual([ledger, 1]);
    for (const kept of states.values()) {
      const resumed = openSqlite(kept);
      upgradeSqlite(resumed, options);
      resumed.close();
      expect(dumpOf(kept)).toEqual(wanted);
    }
  },
);

function ledgerOf(file: string): number {
  const raw = new Sqlite(file);
  try {
    return Number(raw.pragma('user_version', { simple: true }));
  } finally {
    raw.close();
  }
}
