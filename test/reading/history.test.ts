import { expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import { readHistory } from '../../src/reading/history.js';
import { purgeHistory } from '../../src/store/dialect/sqlite/purge.js';
import { mirrorFixture } from '../store/mirror-fixture.js';
import { acme, record } from '../store/samples.js';

test('history: a purged time is refused; a later time and the full history are returned', async () => {
  const { database, list, delta, rows, mirror } = await mirrorFixture();
  await list([[record('inv_1', { shares: '1' })]]);
  const [{ first }] = (await rows('SELECT listed_at AS first FROM sources')) as [{ first: Instant }];
  await delta([record('inv_1', { shares: '2' })]);
  const [{ second }] = (await rows('SELECT valid_from AS second FROM investments')) as [{ second: Instant }];
  await delta([record('inv_1', { shares: '3' })]);
  await mirror.open({ ...acme, name: 'other' as typeof acme.name }, 'tester');
  const place = { kind: 'sqlite', file: database.file } as const;
  const ask = { id: 'inv_1', asOf: first };
  expect(await readHistory(place, ask)).toMatchObject([{ shares: '1' }]);
  expect(purgeHistory(database, second)).toBe(0);
  expect(await readHistory(place, ask)).toMatchObject([{ shares: '1' }]);

  expect(purgeHistory(database, '2027-01-01T00:00:00.000Z' as Instant)).toBe(2);
  const [{ reach }] = (await rows("SELECT history_from AS reach FROM sync_status WHERE source = 'acme'")) as [
    { reach: Instant },
  ];
  for (const asOf of [first, second])
    await expect(readHistory(place, { ...ask, asOf })).rejects.toMatchObject({ code: 'usage' });
  await expect(readHistory(place, { ...ask, source: 'acme' })).rejects.toMatchObject({ code: 'usage' });
  expect(await readHistory(place, { ...ask, asOf: reach })).toMatchObject([{ shares: '3' }]);
  // The history of the other source is complete, because nothing of it was purged.
  expect(await readHistory(place, { ...ask, source: 'other' })).toEqual([]);
  expect(await readHistory(place, { id: 'inv_1' })).toMatchObject([{ shares: '3' }]);
});
