import { expect, test } from 'vitest';
import { mirrorFixture } from './mirror-fixture.js';
import { record } from './samples.js';

test('a disk that fills up is `database_full`, leaves the page unapplied, and the same page works once there is room', async () => {
  const { list, delta, database, rows } = await mirrorFixture();
  await list([[record('inv_1')]]);
  const pages = Number(database.raw.pragma('page_count', { simple: true }));
  const items = Array.from({ length: 100 }, (_, n) => record(`inv_${n}`, { blockers: 'x'.repeat(2_000) }));
  database.raw.pragma(`max_page_count = ${pages + 5}`);
  await expect(delta(items, 'c2')).rejects.toMatchObject({ code: 'database_full' });
  expect(
    await rows('SELECT state, rows_held, (SELECT count(*) FROM changes) AS changes FROM sources'),
  ).toEqual([{ state: 'sweeping', rows_held: 1, changes: 1 }]);
  database.raw.pragma(`max_page_count = ${pages + 10_000}`);
  await expect(delta(items, 'c2')).resolves.toMatchObject({ added: 99, changed: 1 });
  expect(database.raw.pragma('integrity_check', { simple: true })).toBe('ok');
});
