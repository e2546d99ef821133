import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { UserId } from '../../../src/domain/ids.js';
import type { Instant } from '../../../src/domain/instant.js';
import { checkLake } from '../../../src/exports/lake/check-lake.js';
import { systemLakeDisk } from '../../../src/exports/lake/disk.js';
import { readLake, readSnapshots } from '../../../src/exports/lake/layout.js';
import { eraseInLake, lakeViews } from '../../../src/reading/lake.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { seededRandom } from '../../../src/runtime/random.js';
import { test as both } from '../../store/both-databases.js';
import type { Fixture } from '../../store/mirror-fixture.js';
import { mirrorFixture, placeOf, SteppingClock } from '../../store/mirror-fixture.js';
import { identity, record, tombstone } from '../../store/samples.js';
import { tempFolder } from '../../store/temp-folder.js';
import { askLake, contentOf, filesOf, lakeRows, mirrorRows, sync } from './world.js';

const cents = (value: number) => value as never;
const people = (count: number) => Array.from({ length: count }, (_, at) => record(`inv_${at}`));

async function listed(count: number, options: Parameters<typeof mirrorFixture>[0] = {}): Promise<Fixture> {
  const fixture = await mirrorFixture(options);
  await fixture.list([people(count)]);
  return fixture;
}

both(
  'lake: the first sync writes every row, partitioned by source, and DuckDB reads the same rows',
  async () => {
    const fixture = await listed(12);
    const folder = join(tempFolder(), 'lake');
    expect(await sync(fixture, folder)).toMatchObject({ snapshot: 1, wrote: 'full', rows: 12, changed: 0 });
    expect(await lakeRows(folder)).toEqual(await mirrorRows(fixture));
    expect(filesOf(folder)).toEqual([
      '_current.json',
      '_snapshots/000000000001.json',
      '_views.sql',
      expect.stringMatching(/^companies\/000000000001-whole-\w{8}\.parquet$/),
      expect.stringMatching(/^investments\/source=acme\/000000000001-base-\w{8}\.parquet$/),
      expect.stringMatching(/^rounds\/000000000001-whole-\w{8}\.parquet$/),
    ]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const file of filesOf(folder)) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  },
);

both('lake: a later sync writes only what changed, with deletions, and the base stays as it is', async () => {
  const fixture = await listed(30);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder);
  const base = readLake(folder)?.manifest.tables.investments.files;
  await fixture.delta([
    record('inv_3', { status: 'canceled', committed_cents: cents(5) }),
    record('inv_new'),
    tombstone('inv_4'),
    record('inv_short'),
  ]);
  await fixture.delta([tombstone('inv_short')]);
  expect(await sync(fixture, folder)).toMatchObject({
    snapshot: 2,
    wrote: 'changes',
    changed: 2,
    deleted: 1,
  });
  expect(await lakeRows(folder)).toEqual(await mirrorRows(fixture));
  expect(readLake(folder)?.manifest.tables.investments.files).toEqual(base);
  expect(
    await askLake(folder, 'SELECT snapshot, op, id, status FROM investment_changes ORDER BY id'),
  ).toEqual([
    { snapshot: '2', op: 'upsert', id: 'inv_3', status: 'canceled' },
    { snapshot: '2', op: 'delete', id: 'inv_4', status: null },
    { snapshot: '2', op: 'upsert', id: 'inv_new', status: 'approved' },
  ]);
});

test('lake: a number with more digits than the lake can hold is rounded or left out, and counted', async () => {
  const fixture = await listed(2);
  const folder = join(tempFolder(), 'lake');
  const largest = `${'9'.repeat(26)}.9999999999995`;
  await fixture.delta([
    record('inv_0', { shares: '1.0000000000005', average_share_price: '-0.00000000000049' }),
    record('inv_1', { shares: `1${'0'.repeat(26)}`, average_share_price: largest }),
  ]);
  expect(await sync(fixture, folder)).toMatchObject({ wrote: 'full', inexact: 4 });
  const numbers = 'SELECT id, shares, average_share_price AS price FROM investments ORDER BY id';
  expect(await askLake(folder, numbers)).toEqual([
    { id: 'inv_0', shares: '1.000000000001', price: '0.000000000000' },
    { id: 'inv_1', shares: null, price: null },
  ]);
  // What is stored so is no difference at the next sync.
  await fixture.delta([record('inv_2', { shares: '-2.5000000000015' })]);
  expect(await sync(fixture, folder)).toMatchObject({ wrote: 'changes', changed: 1 });
  expect(await askLake(folder, `${numbers} LIMIT 1 OFFSET 2`)).toMatchObject([{ shares: '-2.500000000002' }]);
  expect(await sync(fixture, folder, { compact: true })).toMatchObject({
    wrote: 'full',
    changed: 0,
    inexact: 5,
  });
});

test('lake: without a change there is no new snapshot, and the lake says until when it is complete', async () => {
  const fixture = await listed(5);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder);
  const before = readLake(folder)?.pointer;
  expect(await sync(fixture, folder)).toMatchObject({ snapshot: 1, wrote: 'none', files_written: 0 });
  await fixture.delta([]);
  await sync(fixture, folder);
  const after = readLake(folder)?.pointer;
  expect(after?.snapshot).toBe(1);
  expect(String(after?.synced_at) > String(before?.synced_at)).toBe(true);
  expect(after?.position.sources[0]?.complete_up_to).toBe('2026-02-28T00:00:00.000Z');
});

both(
  'lake: a record that the platform published again without a change is in the lake too, also if its versions are purged',
  async () => {
    const fixture = await listed(5);
    await fixture.delta([record('inv_1', { reason: 'recomputed' as never })]);
    const folder = join(tempFolder(), 'lake');
    await sync(fixture, folder);
    await fixture.delta([
      record('inv_1', { reason: 'again' as never, observed_at: '2026-02-09T00:00:00.000Z' as never }),
    ]);
    await sync(fixture, folder);
    expect(await lakeRows(folder)).toEqual(await mirrorRows(fixture));
    expect(await askLake(folder, "SELECT reason FROM investments WHERE id = 'inv_1'")).toEqual([
      { reason: 'again' },
    ]);
    // The superseded version, by which the next sync would find the record, is purged before it.
    await fixture.delta([record('inv_1', { reason: 'last' as never })]);
    await fixture.purgeHistory('2027-01-01T00:00:00.000Z' as Instant);
    expect(await sync(fixture, folder)).toMatchObject({ wrote: 'full', changed: 1 });
    expect(await lakeRows(folder)).toEqual(await mirrorRows(fixture));
    expect(await sync(fixture, folder)).toMatchObject({ wrote: 'none' });
  },
);

test('lake: a mirror that does not continue the one before is read anew, and its changes say what differs', async () => {
  const folder = join(tempFolder(), 'lake');
  const first = await listed(10);
  await sync(first, folder);
  const other = await mirrorFixture({ clock: new SteppingClock(Date.parse('2026-06-01T00:00:00.000Z')) });
  await other.list([[...people(9), record('inv_other')]]);
  await other.delta([record('inv_2', { status: 'other' })]);
  expect(await sync(other, folder)).toMatchObject({ snapshot: 2, wrote: 'full', deleted: 1 });
  expect(await lakeRows(folder)).toEqual(await mirrorRows(other));
  expect(await askLake(folder, "SELECT id FROM investment_changes WHERE op = 'delete'")).toEqual([
    { id: 'inv_9' },
  ]);
});

test('lake: another source whose first listing completes is in the lake after the next sync', async () => {
  const fixture = await listed(4);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder);
  const second = await mirrorFixture({
    store: fixture.store,
    source: { name: 'beta' as never, fingerprint: 'f1' },
  });
  await second.list([[record('inv_1', { status: 'x' })]]);
  await sync(second, folder);
  expect(await lakeRows(folder)).toEqual(await mirrorRows(second));
  expect(
    await askLake(folder, 'SELECT source, count(*) AS n FROM investments GROUP BY 1 ORDER BY 1'),
  ).toEqual([
    { source: 'acme', n: '4' },
    { source: 'beta', n: '1' },
  ]);
});

test('lake: after the last source is erased, views and check work, and a new source is in the lake after the next sync', async () => {
  const fixture = await listed(3);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder);
  const erased = await mirrorFixture();
  expect(await sync(erased, folder)).toMatchObject({ snapshot: 2, rows: 0, deleted: 3 });
  expect(await lakeRows(folder)).toEqual([]);
  expect(await sync(erased, folder, { compact: true })).toMatchObject({ snapshot: 3, rows: 0 });
  expect(await checkLake(folder, () => {})).toMatchObject({ snapshot: 3, problems: [] });
  await erased.list([[record('inv_7')]]);
  expect(await sync(erased, folder)).toMatchObject({ snapshot: 4, rows: 1, changed: 1 });
  expect(await lakeRows(folder)).toEqual(await mirrorRows(erased));
  await erased.delta([record('inv_7', { status: 'b' })]);
  await sync(erased, folder);
  expect(await lakeRows(folder)).toEqual(await mirrorRows(erased));
});

both('lake: a row that differs without a change in the feed is found by the sums and mended', async () => {
  const fixture = await listed(20);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder);
  await fixture.rows("UPDATE investment_rows SET raised_cents = raised_cents + 7 WHERE id = 'inv_9'");
  await fixture.delta([record('inv_1', { status: 'b' })]);
  expect(await sync(fixture, folder)).toMatchObject({ snapshot: 2, wrote: 'full', changed: 2 });
  expect(await lakeRows(folder)).toEqual(await mirrorRows(fixture));
});

test('lake: six hundred random changes, compacted in between, leave the sums of the mirror and every snapshot', async () => {
  const fixture = await listed(200);
  const folder = join(tempFolder(), 'lake');
  const random = seededRandom(24);
  const pick = (below: number) => Math.floor(random.fraction() * below);
  const past = new Map<number, unknown>();
  for (let round = 0; round < 5; round += 1) {
    const changes = Array.from({ length: 120 }, () => {
      const id = `inv_${pick(260)}`;
      if (pick(5) === 0) return tombstone(id);
      const amount = cents(pick(1_000_000_000));
      return record(id, { status: `s${pick(4)}`, committed_cents: amount, raised_cents: cents(pick(9_999)) });
    });
    await fixture.delta(changes);
    const { snapshot } = await sync(fixture, folder, { compact: round === 2 });
    past.set(snapshot, await mirrorRows(fixture));
  }
  const sums =
    'SELECT count(*) AS rows, sum(committed_cents) AS committed, sum(raised_cents) AS raised FROM investments';
  const [here] = await askLake(folder, sums);
  const [there] = (await fixture.rows(sums)) as Record<string, unknown>[];
  expect(Object.values(here ?? {}).map(String)).toEqual(Object.values(there ?? {}).map(String));
  for (const snapshot of [1, 3, 4, 5])
    expect(await lakeRows(folder, lakeViews({ folder, snapshot }))).toEqual(past.get(snapshot));
  expect(await checkLake(folder, () => {})).toMatchObject({ snapshot: 5, snapshots: 5, problems: [] });
  const { investments, investment_changes } = readLake(folder)?.manifest.tables ?? {};
  expect(investments?.base_snapshot).toBe(3);
  expect(investment_changes?.files.length).toBe(3);
  // Who loaded a snapshot and applies the later changes has the rows of the mirror.
  const [loaded] = await askLake(
    folder,
    `WITH last AS (SELECT * FROM investment_changes WHERE snapshot > 2
       QUALIFY row_number() OVER (PARTITION BY source, id ORDER BY snapshot DESC) = 1)
     SELECT count(*) AS differing FROM (
       (SELECT id, status, committed_cents FROM (${tableOf(folder, 2)}) a ANTI JOIN last USING (source, id)
        UNION ALL SELECT id, status, committed_cents FROM last WHERE op = 'upsert')
       EXCEPT SELECT id, status, committed_cents FROM investments)`,
  );
  expect(loaded).toEqual({ differing: '0' });
});

/** The statement behind the view `investments` of a snapshot, without the names. */
function tableOf(folder: string, snapshot: number): string {
  const views = lakeViews({ folder, snapshot });
  return /VIEW investments AS\n(?:.*\n)?FROM \(([\s\S]*?)\) i\nLEFT JOIN/.exec(views)?.[1] ?? '';
}

interface Loaded {
  readonly lake: string | undefined;
  readonly snapshot: number;
  readonly statuses: ReadonlyMap<unknown, unknown>;
}

/** Loads what is new in a lake, as docs/lake.md says. */
async function load(folder: string, stored: Loaded | null): Promise<Loaded> {
  const state = readLake(folder);
  if (state === null) throw new Error('no lake');
  const { lake, snapshot } = state.pointer;
  const { investments, investment_changes } = state.manifest.tables;
  if (stored !== null && lake === stored.lake && snapshot === stored.snapshot) return stored;
  const isContinued =
    stored !== null && lake === stored.lake && stored.snapshot >= investment_changes.complete_after;
  const rowsOf = async (files: readonly { readonly path: string }[], where: string) =>
    files.length === 0
      ? []
      : await askLake(
          folder,
          `FROM read_parquet([${files.map(({ path }) => `'${join(folder, path)}'`).join(', ')}]) ${where}`,
          'SELECT 1',
        );
  const base = isContinued ? [] : await rowsOf(investments.files, '');
  const statuses = new Map(isContinued ? stored.statuses : base.map(({ id, status }) => [id, status]));
  const after = isContinued ? stored.snapshot : investments.base_snapshot;
  const files = investment_changes.files.filter(({ last_snapshot }) => last_snapshot > after);
  for (const { id, op, status } of await rowsOf(files, `WHERE snapshot > ${after} ORDER BY snapshot`))
    if (op === 'delete') statuses.delete(id);
    else statuses.set(id, status);
  return { lake, snapshot, statuses };
}

test('lake: a loader has every change, also after the lake was deleted and written again', async () => {
  const fixture = await listed(5);
  const folder = join(tempFolder(), 'lake');
  const statuses = async () => new Map((await mirrorRows(fixture)).map(({ id, status }) => [id, status]));
  let stored: Loaded | null = null;
  for (let round = 0; round < 5; round += 1) {
    await fixture.delta([record('inv_1', { status: `s${round}` }), record(`inv_new_${round}`)]);
    if (round > 0) await fixture.delta([tombstone(`inv_new_${round - 1}`)]);
    // Deleted between two runs of the loader: the new lake has the number that was loaded, then a greater one.
    if (round === 1) rmSync(folder, { recursive: true });
    await sync(fixture, folder, { compact: round === 3 });
    if (round === 1) await fixture.delta([record('inv_2', { status: 'again' })]);
    if (round === 1) await sync(fixture, folder);
    stored = await load(folder, stored);
    expect(stored.statuses).toEqual(await statuses());
  }
});

test('lake: only the newest snapshots are kept, with the files that they need', async () => {
  const fixture = await listed(5);
  const folder = join(tempFolder(), 'lake');
  for (let round = 0; round < 5; round += 1) {
    await fixture.delta([record('inv_1', { status: `s${round}` })]);
    await sync(fixture, folder, { keep: 2, compact: round === 2 });
  }
  const state = readLake(folder);
  if (state === null) throw new Error('no lake');
  expect(readSnapshots(folder, state).map(({ snapshot }) => snapshot)).toEqual([5, 4]);
  expect(state.manifest.tables.investment_changes.complete_after).toBe(3);
  expect(await checkLake(folder, () => {})).toMatchObject({ snapshots: 2, problems: [] });
  expect(filesOf(folder).filter((file) => file.includes('-base-'))).toHaveLength(1);
  expect(() => lakeViews({ folder, snapshot: 3 })).toThrow('the lake has no snapshot 3');
  const asOf = '1999-01-01T00:00:00.000Z' as Instant;
  expect(() => lakeViews({ folder, snapshot: 3, asOf })).toThrow(`the lake has no snapshot 3 up to ${asOf}`);
});

both('lake: names are left out unless asked for, and a sync without them removes them', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1', { extra: '{"nick":"Zebulon"}' as never }, identity('Quillfeather'))]]);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder);
  expect(await contentOf(folder)).not.toMatch(/Quillfeather|Zebulon/);
  expect(await sync(fixture, folder, { identity: true })).toMatchObject({ identity_files: 1 });
  expect(await askLake(folder, 'SELECT name, email FROM roster')).toEqual([
    { name: 'Quillfeather', email: 'Quillfeather@example.com' },
  ]);
  expect(await contentOf(folder)).toMatch(/Quillfeather.*Zebulon/);
  await sync(fixture, folder);
  expect(await contentOf(folder)).not.toMatch(/Quillfeather|Zebulon/);
  expect(filesOf(folder).filter((file) => file.startsWith('identities'))).toEqual([]);
});

// Only root can take files away from the user of the daemon.
test.skipIf(process.geteuid?.() !== 0)(
  'lake: what root writes belongs to the user of the folder, which the daemon has to read',
  async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1', {}, identity('Quillfeather'))]]);
    const home = tempFolder();
    chownSync(home, 65_534, 65_534);
    const folder = join(home, 'lake');
    await sync(fixture, folder, { identity: true });
    await fixture.delta([record('inv_1', { status: 'b' }, identity('Ottoline'))]);
    await sync(fixture, folder, { identity: true });
    const all = readdirSync(home, { recursive: true, encoding: 'utf8' });
    expect(all.length).toBeGreaterThan(10);
    expect(all.filter((path) => statSync(join(home, path)).uid !== 65_534)).toEqual([]);
  },
);

test('lake: after forget the files with the person are rewritten and the old ones deleted, in every snapshot', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([
    [record('inv_1', {}, identity('Quillfeather')), record('inv_2', {}, identity('Ottoline'))],
  ]);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder, { identity: true });
  await fixture.delta([record('inv_2', { status: 'b' }, identity('Ottoline'))]);
  await sync(fixture, folder, { identity: true });
  expect(await contentOf(folder)).toContain('Quillfeather');
  await fixture.erasures.forget('usr_inv_1' as never);
  expect(await sync(fixture, folder, { identity: 'keep' })).toMatchObject({ snapshot: 2 });
  expect(await contentOf(folder)).not.toContain('Quillfeather');
  expect(await askLake(folder, 'SELECT id, name FROM roster ORDER BY id')).toEqual([
    { id: 'inv_1', name: null },
    { id: 'inv_2', name: 'Ottoline' },
  ]);
  expect(await checkLake(folder, () => {})).toMatchObject({ snapshots: 2, problems: [] });
});

test('lake: forget during the first sync with names is told that the lake is busy, not that nobody is in it', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1', {}, identity('Quillfeather'))]]);
  const folder = join(tempFolder(), 'lake');
  const erase = () =>
    eraseInLake(placeOf(fixture.store), { folder, keep: 100 }, systemClock, new AbortController().signal);
  let erased: unknown;
  await sync(fixture, folder, {
    identity: true,
    onRead: async () => {
      await fixture.erasures.forget('usr_inv_1' as UserId);
      erased = await erase().catch((error: unknown) => error);
    },
  });
  expect(erased).toMatchObject({ code: 'database_busy' });
  expect(await contentOf(folder)).toContain('Quillfeather');
  expect(await erase()).toBe('rewritten');
  expect(await contentOf(folder)).not.toContain('Quillfeather');
});

test('lake: a folder with other content, or a question mark in its path, is refused and left as it is', async () => {
  const fixture = await listed(1);
  const folder = tempFolder();
  await expect(sync(fixture, join(folder, 'lake?'))).rejects.toMatchObject({
    code: 'usage',
    message: `${join(folder, 'lake?')} contains a question mark, which DuckDB cannot have in a path`,
  });
  writeFileSync(join(folder, 'thesis.txt'), 'mine');
  await expect(sync(fixture, folder)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('other content'),
  });
  expect(filesOf(folder)).toEqual(['thesis.txt']);
});

test('lake: a sync deletes its own unfinished files, and no file of a user that ends in .new', async () => {
  const fixture = await listed(3);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder);
  mkdirSync(join(folder, 'folder.new'));
  for (const name of ['notes.new', 'folder.new/kept', '_current.json.new', '_views.sql.new'])
    writeFileSync(join(folder, name), 'content');
  // What a killed process, and one on a full disk, left of a lock. The second may be that of a process that begins now.
  for (const name of ['_lock.old', '_lock.new']) writeFileSync(join(folder, name), '');
  utimesSync(join(folder, '_lock.old'), 0, 0);
  await sync(fixture, folder);
  expect([existsSync(join(folder, '_lock.old')), existsSync(join(folder, '_lock.new'))]).toEqual([
    false,
    true,
  ]);
  expect(readFileSync(join(folder, 'notes.new'), 'utf8')).toBe('content');
  expect(readFileSync(join(folder, 'folder.new/kept'), 'utf8')).toBe('content');
  expect(existsSync(join(folder, '_current.json.new'))).toBe(false);
  expect(existsSync(join(folder, '_views.sql.new'))).toBe(false);
});

test('lake: a folder in the place of a file, and a disk that fails, are named, and the next sync works without them', async () => {
  const fixture = await listed(3);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder);
  const views = join(folder, '_views.sql');
  rmSync(views);
  mkdirSync(views);
  await fixture.delta([record('inv_new')]);
  await expect(sync(fixture, folder)).rejects.toMatchObject({
    code: 'usage',
    message: `${views} is a folder, and the lake needs a file there`,
  });
  const failing = async () => {
    throw Object.assign(new Error('i/o'), { code: 'EIO' });
  };
  await expect(
    sync(fixture, folder, { disk: { ...systemLakeDisk, makeFolder: failing } }),
  ).rejects.toMatchObject({
    code: 'database_busy',
    message: `the lake ${folder} cannot be written (EIO)`,
  });
  rmSync(views, { recursive: true });
  await sync(fixture, folder);
  expect(existsSync(views)).toBe(true);
  expect(await lakeRows(folder)).toEqual(await mirrorRows(fixture));
});

test('lake: a mirror without a complete listing is refused', async () => {
  const fixture = await mirrorFixture();
  const folder = join(tempFolder(), 'lake');
  await expect(sync(fixture, folder)).rejects.toMatchObject({ code: 'database_unusable' });
});
