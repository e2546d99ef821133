import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { migratePostgres } from '../../../../src/store/dialect/postgres/migrate.js';
import { knownSchema } from '../../../../src/store/dialect/postgres/one-version.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { freshDatabase } from '../../../postgres/fresh-database.js';
import { mirrorFixture } from '../../mirror-fixture.js';
import { record } from '../../samples.js';

test('a process whose database a later version has migrated meanwhile writes nothing, and names both schemas', async () => {
  const { url } = await freshDatabase();
  const postgres = await openPostgres(url);
  onTestFinished(() => postgres.close());
  await migratePostgres(postgres, { clock: systemClock, version: '0.0.0-test' });
  const fixture = await mirrorFixture({ store: { kind: 'postgres', postgres } });
  await fixture.list([[record('inv_1')]]);
  const later = knownSchema() + 1;
  await postgres.pool.query(
    `INSERT INTO migrations SELECT (json_populate_record(m, json_build_object('number', ${later}, 'name', 'later'))).*
     FROM migrations m WHERE number = ${later - 1}`,
  );
  const refused = {
    code: 'database_unusable',
    message: `the database was migrated to schema ${later} while this process, which knows up to ${later - 1}, was running`,
  };
  await expect(fixture.delta([record('inv_2')])).rejects.toMatchObject(refused);
  await expect(
    fixture.mirror.open({ name: 'other' as never, fingerprint: 'f' }, 'tester'),
  ).rejects.toMatchObject(refused);
  expect(await fixture.rows('SELECT id FROM investments')).toEqual([{ id: 'inv_1' }]);
});
