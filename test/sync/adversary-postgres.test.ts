import { expect, test } from 'vitest';
import { PostgresMirror } from '../../src/store/dialect/postgres/mirror.js';
import type { PostgresDatabase } from '../../src/store/dialect/postgres/open.js';
import { emptyPostgres, postgresStore } from '../store/postgres-store.js';
import { attack, type Victim } from './support/adversary.js';
import { acme } from './support/parts.js';
import type { VirtualClock } from './support/virtual-clock.js';

const seeds = 3;

/** Commits survive a crash. A crash only shortens the wait for the dead process's lease. */
function postgresVictim(database: PostgresDatabase, clock: VirtualClock): Victim {
  const { pool } = database;
  return {
    mirror: new PostgresMirror(database, { clock, leaseMs: 1 }),
    rows: async () => {
      const { rows } = await pool.query<{ id: string; committed_cents: number | null }>(
        'SELECT id, committed_cents FROM investments',
      );
      return new Map(rows.map((row) => [row.id, row.committed_cents]));
    },
    cursor: async () => {
      const { rows } = await pool.query<{ cursor: string }>(
        "SELECT cursor FROM sources WHERE state = 'following' AND name = $1",
        [acme],
      );
      return rows[0]?.cursor ?? null;
    },
    reopen: async () => {
      clock.jump(1000);
      return postgresVictim(database, clock);
    },
    close: async () => {},
  };
}

test(`the PostgreSQL store equals the truth at rest in ${seeds} seeded worlds`, async () => {
  const database = await postgresStore();
  let crashes = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    await emptyPostgres(database);
    crashes += (await attack(seed, async (clock) => postgresVictim(database, clock))).crashes;
  }
  expect(crashes).toBeGreaterThan(seeds);
});
