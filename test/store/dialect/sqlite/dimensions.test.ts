import { expect, test, vi } from 'vitest';
import { collections } from '../../../../src/dimensions/collections/index.js';
import type { Row } from '../../../../src/dimensions/ports.js';
import { SqliteDimensions } from '../../../../src/store/dialect/sqlite/dimensions.js';
import { mirrorFixture } from '../../mirror-fixture.js';
import { acme } from '../../samples.js';

test('collections: each statement is prepared once, however many posts a listing stores', async () => {
  const { store, clock } = await mirrorFixture();
  if (store.kind !== 'sqlite') throw new Error('the mirror of this test is in SQLite');
  const dimensions = new SqliteDimensions(store.sqlite, clock);
  const collection = collections.company_updates;
  const nothing = Object.fromEntries(collection.columns.map((column) => [column, null]));
  const rows = Array.from(
    { length: 300 },
    (_, at): Row => ({ ...nothing, id: `post_${at}`, company_id: 'co_1' }),
  );
  const { attempt } = await dimensions.begin(acme.name, ['company_updates'], []);
  const prepare = vi.spyOn(store.sqlite.raw, 'prepare');
  const listing = { kind: 'complete', collection, rows, problem: null } as const;
  expect(await dimensions.apply(acme.name, attempt, [listing])).toMatchObject({ added: 300 });
  expect(prepare.mock.calls.length).toBeLessThan(30);
});
