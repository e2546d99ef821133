import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { InvestmentId } from '../../../../src/domain/ids.js';
import { PostgresErasures } from '../../../../src/store/dialect/postgres/erasures.js';
import { freshDatabase } from '../../../postgres/fresh-database.js';
import { freshStore, mirrorFixture } from '../../mirror-fixture.js';
import { record } from '../../samples.js';

test('a writer in another database of the server blocks the scrub, which reports it', async () => {
  const elsewhere = await freshDatabase();
  const writer = new pg.Client(elsewhere.url);
  await writer.connect();
  onTestFinished(async () => {
    await writer.end();
    await elsewhere.drop();
  });
  const store = await freshStore('postgres');
  if (store.kind !== 'postgres') throw new Error('asked for PostgreSQL');
  const { list, clock, erasures } = await mirrorFixture({ store });
  await list([[record('inv_1'), record('inv_2')]]);

  await writer.query('BEGIN; SELECT pg_current_xact_id()');
  const impatient = new PostgresErasures(store.postgres, clock);
  await impatient.forget('inv_1' as InvestmentId);
  expect(await impatient.scrub()).toMatchObject({ kind: 'blocked', erasures: 1 });
  await writer.query('COMMIT');
  expect(await erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
});
