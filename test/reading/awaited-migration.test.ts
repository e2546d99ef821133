import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type FreshnessAsk, waitForFreshness } from '../../src/reading/freshness.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { appliedMigrations, openPostgres } from '../../src/store/dialect/postgres/open.js';
import { migrateSqlite } from '../../src/store/dialect/sqlite/migrate.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { shippedMigrations } from '../../src/store/migrate.js';
import { awaitsMigration } from '../../src/store/reads/is-there.js';
import { freshDatabase, migratedDatabase } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { freshMirror, StandingClock, seedSource } from '../store/support/mirror.js';
import { tempFolder } from '../store/temp-folder.js';

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
  const client = await database.pool.connect();
  try {
    await client.query('BEGIN; LOCK TABLE migrations');
    await expect(appliedMigrations(place, 20)).rejects.toMatchObject({ code: 'database_busy' });
  } finally {
    client.release(true);
  }
});

test('a wait on PostgreSQL ends in time although a migration has locked the mirror, and leaves nothing at the server', async () => {
  const { url, drop } = await migratedDatabase();
  onTestFinished(drop);
  const place = { kind: 'postgres', url, password: null } as const;
  const ask = (configured: FreshnessAsk['configured'], sources: readonly string[] = []) =>
    waitForFreshness(
      place,
      { ageMillis: 60_000, timeoutMillis: 0, sources, configured },
      new StandingClock(),
      new AbortController().signal,
    );
  const listed = { listed: ['acme'], rules: [] };
  await withClient(url, async (client) => {
    await client.query('BEGIN; LOCK TABLE sources');
    // Neither the sources of the mirror nor whether it has this one can be known.
    const [seen, unknown, other] = await Promise.all([
      ask(listed),
      ask(null).catch((error: unknown) => error),
      ask(listed, ['other']),
    ]);
    expect(seen).toMatchObject({
      verdict: 'waiting',
      sources: [
        { source: 'acme', fresh: false, meaning: expect.stringMatching(/^not readable: a migration/) },
      ],
    });
    expect(unknown).toMatchObject({ code: 'stopped', about: { locked: true } });
    expect(other).toMatchObject({
      verdict: 'waiting',
      sources: [{ source: 'other' }],
    });
    const { rows } = await client.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    expect(rows).toEqual([]);
  });
  await expect(ask(listed, ['other'])).rejects.toMatchObject({ code: 'usage' });
});

test('a wait reads a mirror again that was migrated after it was read', async () => {
  const clock = new StandingClock();
  const older = openSqlite(join(tempFolder(), 'older.db'));
  onTestFinished(() => older.close());
  migrateSqlite(older, { clock, version: '0.1.0', migrations: shippedMigrations('sqlite').slice(0, 9) });
  const migrated = freshMirror();
  seedSource(migrated, 1, { name: 'acme' });
  // It is looked for and read as it was before, and has its migrations when they are counted.
  const files = [older.file, older.file];
  const place = {
    kind: 'sqlite',
    get file() {
      return files.shift() ?? migrated.file;
    },
  } as const;
  const ask = {
    ageMillis: 0,
    timeoutMillis: 0,
    sources: [],
    configured: { listed: ['acme', 'new'], rules: [] },
  };
  const { sources } = await waitForFreshness(place, ask, clock, new AbortController().signal);
  expect(sources).toMatchObject([
    { source: 'acme', complete_up_to: expect.any(String) },
    { source: 'new', meaning: 'never synced: not in this mirror yet' },
  ]);
});
