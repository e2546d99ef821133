import { expect, test } from 'vitest';
import { freshStore, mirrorFixture, rowsOf } from './mirror-fixture.js';
import { record } from './samples.js';

const items = Array.from({ length: 100 }, (_, n) => record(`inv_${n}`, { blockers: 'x'.repeat(2_000) }));
const held = 'SELECT state, rows_held, (SELECT count(*) FROM changes) AS changes FROM sources';
const before = [{ state: 'sweeping', rows_held: 1, changes: 1 }];

test('a full disk fails with `database_full` and applies nothing of the page; the page succeeds once there is room', async () => {
  const { list, delta, database, rows } = await mirrorFixture();
  await list([[record('inv_1')]]);
  const pages = Number(database.raw.pragma('page_count', { simple: true }));
  database.raw.pragma(`max_page_count = ${pages + 5}`);
  await expect(delta(items, 'c2')).rejects.toMatchObject({ code: 'database_full' });
  expect(await rows(held)).toEqual(before);
  database.raw.pragma(`max_page_count = ${pages + 10_000}`);
  await expect(delta(items, 'c2')).resolves.toMatchObject({ added: 99, changed: 1 });
  expect(database.raw.pragma('integrity_check', { simple: true })).toBe('ok');
});

/** The test cannot fill a server's disk, so a trigger raises its error in the middle of a page. */
test.each(['investment_rows', 'history_rows', 'change_rows', 'rosterd_identity.identity_rows', 'sources'])(
  'a full server disk while writing %s fails with `database_full`; the page succeeds once there is room',
  async (table) => {
    const store = await freshStore('postgres');
    const { list, delta, rows } = await mirrorFixture({ store });
    await list([[record('inv_1')]]);
    await rowsOf(
      store,
      `CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
       CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON ${table} EXECUTE FUNCTION disk_is_full()`,
    );
    await expect(delta(items, 'c2')).rejects.toMatchObject({ code: 'database_full' });
    expect(await rows(held)).toEqual(before);
    await rowsOf(store, 'DROP FUNCTION disk_is_full CASCADE');
    await expect(delta(items, 'c2')).resolves.toMatchObject({ added: 99, changed: 1 });
    expect(await rows('SELECT count(*) AS count FROM identities')).toEqual([{ count: 100 }]);
  },
);
