import { expect, onTestFinished, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import { systemClock } from '../../src/runtime/clock.js';
import { PostgresFleet } from '../../src/store/dialect/postgres/fleet.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { shippedMigrations } from '../../src/store/migrate.js';
import { newestMigration } from '../../src/store/newest-migration.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { writtenVersions } from './written.js';

test('PostgreSQL: this version does not migrate while a host of 0.2.0 runs, and 0.2.0 refuses the database afterwards', async () => {
  const schema = writtenVersions.find(({ version }) => version === '0.2.0')?.migrations.postgres ?? 0;
  const newest = newestMigration('postgres');
  expect(newest).toBeGreaterThan(schema);
  const migrations = shippedMigrations('postgres').slice(0, schema);
  const { url } = await freshDatabase();
  const database = await openPostgres(url);
  onTestFinished(() => database.close());
  const old = { clock: systemClock, version: '0.2.0', migrations };
  await migratePostgres(database, old);
  const ears = { onMessage: () => {}, onGap: () => {}, onLost: () => {} };
  const member = new PostgresFleet('host-b:4711:x', { server: url, database, version: '0.2.0' }, ears);
  await member.join(['acme' as SourceName]);

  const start = () => migratePostgres(database, { clock: systemClock, version: '9.9.9' });
  await expect(start()).rejects.toMatchObject({
    code: 'database_unusable',
    message: 'the schema has to be migrated, and rosterd 0.2.0 on host-b:4711 still uses it',
    about: { hint: expect.stringContaining('Stop rosterd on every host') as unknown },
  });
  // It goes on meanwhile.
  expect(await member.beat([])).toMatchObject({ late: false });

  await member.leave();
  await member.close();
  expect((await start()).ran).toEqual(
    shippedMigrations('postgres')
      .slice(schema)
      .map(({ number, name }) => `${String(number).padStart(4, '0')}_${name}`),
  );
  await expect(migratePostgres(database, old)).rejects.toMatchObject({
    code: 'database_unusable',
    message: `the database has schema ${schema + 1} (names_everywhere), written by rosterd 9.9.9; this version knows up to ${schema}`,
    about: { hint: 'Install rosterd 9.9.9 or later, or restore the backup beside the file.' },
  });
});
