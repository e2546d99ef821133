import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SqliteMirror } from '../../src/store/dialect/sqlite/mirror.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { testSeed } from '../support/chance.js';
import { placeMigrated } from '../support/migrated-file.js';
import { attack, type Victim } from './support/adversary.js';
import { acme } from './support/parts.js';
import type { VirtualClock } from './support/virtual-clock.js';

const seeds = 20;
/**
 * Another seed of the tests, such as those of `npm run test:flicker`, attacks other worlds. In world 60 of the first seed a
 * listing finds ids that an earlier one left as seen, which few worlds notice.
 */
const first = (testSeed + 1) * seeds + 1;

/** The real store in a file. A crash abandons the connection, and the next process opens the file again. */
function sqliteVictim(file: string, clock: VirtualClock): Victim {
  placeMigrated(file, '0.1.0');
  const database = openSqlite(file);
  // A crash shortens the wait for the dead process's lease, not the lease itself.
  const mirror = new SqliteMirror(database, { clock, leaseMs: 1 });
  // The process dies here but the machine does not, so no write has to wait for the disk.
  database.raw.pragma('synchronous = OFF');
  const rows = database.raw.prepare<[], { id: string; committed_cents: number | null }>(
    'SELECT id, committed_cents FROM investments',
  );
  const cursor = database.raw
    .prepare<[string], string>("SELECT cursor FROM sources WHERE state = 'following' AND name = ?")
    .pluck();
  return {
    mirror,
    rows: () => new Map(rows.all().map((row) => [row.id, row.committed_cents])),
    cursor: () => cursor.get(acme) ?? null,
    reopen: async () => {
      database.close();
      clock.jump(1000);
      return sqliteVictim(file, clock);
    },
    close: async () => database.close(),
  };
}

test(`PAGE-02 INV-09 CLIENT-08 the SQLite store equals the truth at rest in ${seeds} seeded worlds`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-adversary-'));
  try {
    let crashes = 0;
    for (let seed = first; seed < first + seeds; seed += 1) {
      const file = join(folder, `${seed}.db`);
      crashes += (await attack(seed, async (clock) => sqliteVictim(file, clock))).crashes;
    }
    expect(crashes).toBeGreaterThan(seeds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
