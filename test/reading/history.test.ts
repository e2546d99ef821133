import { expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import { readHistory } from '../../src/reading/history.js';
import { purgeHistory } from '../../src/store/dialect/sqlite/purge.js';
import { mirrorFixture } from '../store/mirror-fixture.js';
import { acme, record } from '../store/samples.js';
import { manySources } from '../store/support/many-sources.js';
import { freshMirror } from '../store/support/mirror.js';

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

test('history: of a source that does not exist, the hint names all others only if they are few', async () => {
  const hintOf = async (sources: number) => {
    const { file, raw } = freshMirror();
    for (const sql of manySources(sources, Date.parse('2026-10-20T00:00:00Z'))) raw.exec(sql);
    const failed = readHistory({ kind: 'sqlite', file }, { id: 'inv_1', source: 'nowhere' });
    return await failed.catch((error: { readonly about: { readonly hint: string } }) => error.about.hint);
  };
  expect(await hintOf(20)).toMatch(/^one of: source-00001, .*, source-00020$/);
  expect(await hintOf(21)).toBe('rosterd sources list');
});
