import { expect, onTestFinished, test } from 'vitest';
import { waitForFreshness } from '../../src/reading/freshness.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { shippedMigrations } from '../../src/store/migrate.js';
import { awaitsMigration } from '../../src/store/reads/is-there.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { StandingClock } from '../store/support/mirror.js';

test('a wait on PostgreSQL lets a daemon create or migrate the schema first', async () => {
  const { url, drop } = await freshDatabase();
  onTestFinished(drop);
  const place = { kind: 'postgres', url, password: null } as const;
  const clock = new StandingClock();
  const ask = {
    ageMillis: 60_000,
    timeoutMillis: 0,
    sources: [],
    configured: { listed: ['acme'], rules: [] },
  };
  const meaning = async () => {
    const { sources } = await waitForFreshness(place, ask, clock, new AbortController().signal);
    return sources.map(({ meaning }) => meaning);
  };
  expect([await awaitsMigration(place), await meaning()]).toEqual([
    true,
    ['never synced: not in this mirror yet'],
  ]);
  const database = await openPostgres(url, { max: 1 });
  onTestFinished(() => database.close());
  const at = { clock, version: '0.1.0' };
  await migratePostgres(database, { ...at, migrations: shippedMigrations('postgres').slice(0, 2) });
  expect([await awaitsMigration(place), await meaning()]).toEqual([
    true,
    ['the schema awaits its migration'],
  ]);
  await migratePostgres(database, at);
  expect([await awaitsMigration(place), await meaning()]).toEqual([
    false,
    ['never synced: not in this mirror yet'],
  ]);
});
