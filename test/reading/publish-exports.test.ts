import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { checkExport } from '../../src/reading/export-manifest.js';
import { mirrorName, publishedExports } from '../../src/reading/exports-folder.js';
import { publishApart } from '../../src/reading/publish-apart.js';
import { publishExports } from '../../src/reading/publish-exports.js';
import {
  discardExport,
  discardExports,
  pruneExports,
  removeNamedExports,
} from '../../src/reading/remove-exports.js';
import { systemClock } from '../../src/runtime/clock.js';
import { freshMirror, seedIdentity, seedInvestment, seedSource } from '../store/support/mirror.js';
import { tempFolder } from '../store/temp-folder.js';
import { testRandom } from '../support/chance.js';

const start = Date.parse('2026-11-01T00:00:00Z');
const later = start + 86_400_000;

/** A mirror with one person, and an empty folder for exports. */
function world(folder = join(tempFolder(), 'exports')) {
  const database = freshMirror();
  seedSource(database, 1);
  seedIdentity(database, seedInvestment(database, 1, 'inv_1', { investor_id: 'usr_1' }), { name: 'CANARY' });
  const location = { kind: 'sqlite', file: database.file } as const;
  const publish = (
    identity: boolean,
    {
      at = start,
      named = location as { kind: 'sqlite'; file: string },
      during = () => {},
      discard = discardExport,
    } = {},
  ) => {
    const now = () => {
      if (existsSync(folder) && readdirSync(folder).some((name) => name.startsWith('.unfinished-'))) during();
      return at;
    };
    return publishExports(
      named,
      { folder, format: 'csv', tables: [identity ? 'roster' : 'investments'], identity },
      { clock: { ...systemClock, now }, random: testRandom(), signal: new AbortController().signal, discard },
    );
  };
  const forgetNow = () =>
    database.raw
      .prepare("INSERT INTO erasures (id, cause, invisible_at) VALUES ('usr_1', 'forget', ?)")
      .run('2026-11-01T00:00:00.000Z');
  return { folder, database, location, mirror: mirrorName(location), publish, forgetNow };
}

test('scheduled exports: only folders with a manifest of a scheduled export are counted and deleted, never through a link', async () => {
  const { folder, mirror, publish } = world();
  const made = await publish(true);
  const outside = join(tempFolder(), 'elsewhere');
  renameSync(made.folder, outside);
  symlinkSync(outside, join(folder, '20260101T000000Z'));
  const manifest = JSON.parse(readFileSync(join(outside, 'manifest.json'), 'utf8'));
  const others = {
    '20260102T000000Z': JSON.stringify({ format: 'of-another-program', files: [] }),
    '20260103T000000Z': '{}',
    '20260104T000000Z': 'null',
    '20260105T000000Z': '{"torn',
    '20260106T000000Z': JSON.stringify({ ...manifest, version: 99 }),
    '20260107T000000Z': JSON.stringify({ ...manifest, scheduled: null }),
    '20260108T000000Z': JSON.stringify({ ...manifest, scheduled: undefined }),
  };
  for (const [name, text] of Object.entries(others)) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'manifest.json'), text);
    writeFileSync(join(folder, name, 'precious.txt'), 'kept');
  }
  const before = readdirSync(folder);
  const damaged = ['20260105T000000Z', '20260106T000000Z', '20260107T000000Z'].map((name) =>
    join(folder, name),
  );
  expect(publishedExports(folder, mirror)).toEqual({ exports: [], damaged });
  await pruneExports(folder, mirror, 0, later);
  expect(await removeNamedExports(folder, mirror)).toEqual({ removed: [], damaged });
  expect(readdirSync(folder)).toEqual(before);
  expect(readdirSync(outside).sort()).toEqual(['manifest.json', 'roster.csv']);
  for (const name of Object.keys(others)) expect(readdirSync(join(folder, name))).toHaveLength(2);
});

test('scheduled exports: --check compares one by its folder, by one of its files or by its manifest', async () => {
  const { folder, publish } = world();
  const made = await publish(false);
  const csv = join(made.folder, 'investments.csv');
  const manifest = join(made.folder, 'manifest.json');
  for (const asked of [made.folder, csv, manifest])
    expect(await checkExport(asked)).toMatchObject({ manifest, files: 1, problems: [] });
  writeFileSync(csv, 'other');
  for (const asked of [made.folder, csv, manifest])
    expect(await checkExport(asked)).toMatchObject({ problems: [{ file: 'investments.csv' }] });
  writeFileSync(join(made.folder, 'mine.csv'), 'not exported');
  await expect(checkExport(join(made.folder, 'mine.csv'))).rejects.toThrow('mine.csv is no manifest');
  await expect(checkExport(folder)).rejects.toThrow(
    `${join(folder, 'manifest.json')} cannot be read (ENOENT)`,
  );
});

test('export --check: a manifest.json of another program in the folder is not taken for that of the export', async () => {
  const { publish } = world();
  const { folder } = await publish(false);
  const csv = join(folder, 'investments.csv');
  renameSync(join(folder, 'manifest.json'), `${csv}.manifest.json`);
  writeFileSync(join(folder, 'manifest.json'), '{"name":"an app"}');
  for (const asked of [csv, `${csv}.manifest.json`])
    expect(await checkExport(asked)).toMatchObject({ manifest: `${csv}.manifest.json`, problems: [] });
  rmSync(`${csv}.manifest.json`);
  await expect(checkExport(csv)).rejects.toThrow('investments.csv is no manifest');
  const long = join(folder, 'x'.repeat(300));
  await expect(checkExport(long)).rejects.toThrow('cannot be read (ENAMETOOLONG)');
});

test('scheduled exports: an export with names is not published when a person is forgotten while it is written', async () => {
  const { folder, publish, forgetNow } = world();
  await expect(publish(true, { during: forgetNow })).rejects.toMatchObject({
    code: 'database_busy',
    message: 'a person was forgotten while the export was written',
  });
  expect(readdirSync(folder)).toEqual([]);
  await publish(false, { during: forgetNow });
  expect(readdirSync(folder)).toEqual(['20261101T000000Z']);
});

test('scheduled exports: removing those with names removes an unfinished one, whose writer then fails', async () => {
  const { folder, mirror, publish } = world();
  const during = () => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  };
  await expect(publish(true, { during })).rejects.toMatchObject({ code: 'database_busy' });
  mkdirSync(join(folder, `.unfinished-${mirror}-abcdefgh`));
  writeFileSync(join(folder, `.unfinished-${mirror}-abcdefgh`, 'roster.csv'), 'CANARY');
  await removeNamedExports(folder, mirror);
  expect(readdirSync(folder)).toEqual([]);
});

test('scheduled exports: one that cannot be deleted keeps none of the others, and all that are left are named', async () => {
  const { folder, mirror, publish } = world();
  const made: string[] = [];
  for (const at of [start, start + 1000, start + 2000]) made.push((await publish(true, { at })).folder);
  const unfinished = [`.unfinished-${mirror}-abcdefgh`, `.unfinished-${mirror}-ijklmnop`].map((name) =>
    join(folder, name),
  );
  // One of which an earlier deletion left something.
  for (const path of [...unfinished, join(folder, `.deleted-${mirror}-abcdefgh`)]) mkdirSync(path);
  const kept = [unfinished[0] ?? '', made[1] ?? '', made[2] ?? ''];
  const discard = async (path: string) => {
    if (kept.includes(path)) throw Object.assign(new Error('refused'), { code: 'EACCES', path });
    await discardExport(path, mirror);
  };
  await expect(removeNamedExports(folder, mirror, discard)).rejects.toMatchObject({
    code: 'usage',
    message: `exports cannot be deleted: ${[kept[0], kept[2], kept[1]].map((path) => `${path} (EACCES)`).join(', ')}`,
  });
  expect(readdirSync(folder).sort()).toEqual(kept.map((path) => basename(path)).sort());
  // A path through a file cannot be renamed.
  const file = join(folder, 'notes');
  writeFileSync(file, '');
  const { removed, fault } = await discardExports([join(file, 'old'), ...kept], mirror);
  expect([removed, fault?.message]).toEqual([
    kept,
    `exports cannot be deleted: ${join(file, 'old')} (ENOTDIR)`,
  ]);
  expect(await removeNamedExports(file, mirror)).toEqual({ removed: [], damaged: [] });
});

test('scheduled exports: what a killed process left and cannot be deleted keeps no export from being made', async () => {
  const { folder, mirror, publish } = world();
  const left = `.unfinished-${mirror}-abcdefgh`;
  mkdirSync(join(folder, left), { recursive: true });
  const discard = async (path: string) => {
    throw Object.assign(new Error('refused'), { code: 'EACCES', path });
  };
  await publish(true, { discard });
  expect(readdirSync(folder).sort()).toEqual([left, '20261101T000000Z']);
});

test('scheduled exports: what a killed child process leaves is deleted by its parent', async () => {
  const { folder, mirror, location } = world();
  mkdirSync(join(folder, `.unfinished-${mirror}-abcdefgh`), { recursive: true });
  const ask = { folder, format: 'csv', tables: ['roster'], identity: true } as const;
  const stop = AbortSignal.abort();
  await expect(publishApart(location, { kind: 'exports', ask }, systemClock, stop)).rejects.toMatchObject({
    code: 'stopped',
  });
  expect(readdirSync(folder)).toEqual([]);
});

test('scheduled exports: two mirrors in one folder neither count nor delete the exports of each other', async () => {
  const { folder, database, mirror, publish } = world();
  const other = { kind: 'sqlite' as const, file: join(tempFolder(), 'other.db') };
  database.raw.exec(`VACUUM INTO '${other.file}'`);
  const unfinished = ['.unfinished-other-abcdefgh', '.unfinished-other-x-abcdefgh'];
  const own = await publish(true);
  for (const name of unfinished) mkdirSync(join(folder, name));
  const strange = await publish(true, { named: other });
  expect([own.folder, strange.folder]).toEqual([
    join(folder, '20261101T000000Z'),
    join(folder, '20261101T000001Z'),
  ]);
  // A mirror called `other` removes only its own leftovers.
  expect(existsSync(join(folder, unfinished[0] ?? ''))).toBe(false);
  expect(existsSync(join(folder, unfinished[1] ?? ''))).toBe(true);
  const foldersOf = (name: string) => publishedExports(folder, name).exports.map((one) => one.folder);
  expect([foldersOf(mirror), foldersOf('other')]).toEqual([[own.folder], [strange.folder]]);
  await pruneExports(folder, 'other', 0, later);
  expect([existsSync(own.folder), existsSync(strange.folder)]).toEqual([true, false]);
  expect(await removeNamedExports(folder, 'third')).toEqual({ removed: [], damaged: [] });
  expect((await removeNamedExports(folder, mirror)).removed).toEqual([own.folder]);
  expect(readdirSync(folder)).toEqual([unfinished[1]]);
});
