import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askLake, contentOf, filesOf } from '../exports/lake/world.js';
import { stopped } from './fake-io.js';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

let world: FilledMirror;
const lake = () => join(world.folder, 'lake');

const sums =
  'SELECT count(*) AS rows, sum(committed_cents) AS committed, sum(raised_cents) AS raised FROM investments';
const ofMirror = () => world.inFile((raw) => Object.values(raw.prepare(sums).get() as object).map(String));
const ofLake = async (views: string) =>
  Object.values((await askLake(lake(), sums, views))[0] ?? {}).map(String);

beforeAll(async () => {
  world = await filledMirror(60);
  await world.sync();
});
afterAll(() => world.close());

test('lake: the commands write the mirror, then its changes, and print the views of each snapshot', async () => {
  const first = await world.run(['lake', 'sync', 'lake']);
  expect([first.code, first.out]).toEqual([
    0,
    expect.stringMatching(/lake: snapshot 1, \d+ rows written; 3 files, [\d,]+ bytes\n$/),
  ]);
  const before = ofMirror();
  expect((await world.run(['lake', 'sync', 'lake'])).out).toMatch(/snapshot 1 is up to date \(\d+ rows\)\n$/);
  await world.control('POST', '/churn', { changes: 15 });
  await world.sync();
  const second = await world.run(['lake', 'sync', 'lake', '--json']);
  expect(JSON.parse(second.out)).toMatchObject({ snapshot: 2, wrote: 'changes', identity_files: null });
  const now = (await world.run(['lake', 'sql', 'lake'])).out;
  expect(await ofLake(now)).toEqual(ofMirror());
  const firstViews = (await world.run(['lake', 'sql', 'lake', '--snapshot', '1'])).out;
  expect(await ofLake(firstViews)).toEqual(before);
  expect(
    await askLake(lake(), 'SELECT id, op, snapshot, raised_cents FROM investment_changes', firstViews),
  ).toEqual([]);
  // `_views.sql` has the same statements with paths below the folder.
  const relative = readFileSync(join(lake(), '_views.sql'), 'utf8');
  expect(
    relative
      .replaceAll("read_parquet(['", `read_parquet(['${lake()}/`)
      .replaceAll(", '", `, '${lake()}/`)
      .trim(),
  ).toBe(now.trim());
  const unknown = await world.run(['lake', 'sql', 'lake', '--as-of', '2020-01-01']);
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('its snapshots are 1 (')]);
});

test('lake check and lake sql of a file ask for a folder', async () => {
  for (const command of ['check', 'sql']) {
    const { code, err } = await world.run(['lake', command, 'mirror.db']);
    expect([code, err], command).toEqual([2, expect.stringContaining('Try: Name the folder of a lake.')]);
  }
});

test.skipIf(process.platform !== 'linux')(
  'lake sync, backup and export below /proc, which never holds a folder, are refused at once',
  async () => {
    for (const [args, folder] of [
      [['lake', 'sync', '/proc/rosterd/lake'], '/proc/rosterd/lake'],
      [['backup', '/proc/rosterd/copy.db'], '/proc/rosterd'],
      [['backup', '/proc/copy.db'], '/proc'],
      [['export', '--out', '/proc/rosterd/x.csv'], '/proc/rosterd'],
    ] as const) {
      const { code, err } = await world.run(args);
      expect([args, code, err]).toEqual([
        args,
        2,
        expect.stringContaining(`error: cannot write to ${folder} (ENOENT)\nTry: Name a f`),
      ]);
    }
  },
);

test('lake check that a signal stops ends with exit code 5 after the file it reads', async () => {
  await world.run(['lake', 'sync', 'stopped-lake']);
  expect(await world.run(['lake', 'check', 'stopped-lake'], stopped)).toMatchObject({
    code: 5,
    out: '',
    err: expect.stringContaining('error: the check was stopped before its end\n'),
  });
});

test('lake check: exit code 1 and the file for one that is damaged or missing', async () => {
  await world.run(['lake', 'sync', 'lake']);
  const well = await world.run(['lake', 'check', 'lake']);
  expect([well.code, well.out]).toEqual([0, expect.stringMatching(/: all well\n$/)]);
  const [file = ''] = filesOf(lake()).filter((name) => name.startsWith('companies'));
  const content = readFileSync(join(lake(), file));
  writeFileSync(join(lake(), file), Buffer.from([...content.subarray(0, -1), 0]));
  const damaged = await world.run(['lake', 'check', 'lake']);
  expect([damaged.code, damaged.out]).toEqual([1, expect.stringContaining(`${file}: wrong checksum\n`)]);
  expect(damaged.err).toContain(`Try: delete ${lake()} and write it again with rosterd lake sync`);
  const synced = await world.run(['lake', 'sync', 'lake', '--compact']);
  expect([synced.code, synced.err]).toEqual([
    1,
    expect.stringContaining(
      `error: a file of the lake is damaged: ${file} (wrong checksum)\nTry: delete ${lake()}`,
    ),
  ]);
  rmSync(join(lake(), file));
  expect(JSON.parse((await world.run(['lake', 'check', 'lake', '--json'])).out)).toMatchObject({
    problems: [{ path: file, problem: 'missing' }],
  });
  writeFileSync(join(lake(), file), content, { mode: 0o600 });
  expect((await world.run(['lake', 'check', 'else where'])).err).toMatch(
    /^Try: rosterd lake sync ".*\/else where"$/m,
  );
});

test('lake check: a file that the disk does not give back is named, like a damaged one', async () => {
  await world.run(['lake', 'sync', 'broken-lake']);
  const folder = join(world.folder, 'broken-lake');
  const [file = ''] = filesOf(folder).filter((name) => name.startsWith('companies'));
  rmSync(join(folder, file));
  // Reading a folder fails as a broken disk does, with another code.
  mkdirSync(join(folder, file));
  const { code, out, err } = await world.run(['lake', 'check', 'broken-lake']);
  expect([code, out]).toEqual([1, expect.stringContaining(`${file}: cannot be read (EISDIR)\n`)]);
  expect(err).toContain('Try: delete ');
});

test('lake sync --identity: names are in files of their own, and a forgotten person is in none', async () => {
  await world.run(['lake', 'sync', 'lake', '--identity']);
  const [someone] = await askLake(
    lake(),
    'SELECT investor_id, email FROM roster WHERE email IS NOT NULL ORDER BY id LIMIT 1',
  );
  expect(await contentOf(lake())).toContain(String(someone?.email));
  const forgotten = await world.run(['forget', String(someone?.investor_id)]);
  expect(forgotten.out).toContain('the lake was rewritten without it');
  expect(await contentOf(lake())).not.toContain(String(someone?.email));
  await world.run(['lake', 'sync', 'lake']);
  expect(filesOf(lake()).some((file) => file.startsWith('identities'))).toBe(false);
});

test('lake sync refuses object storage in one sentence with the next step, and writes nothing', async () => {
  const { code, err } = await world.run(['lake', 'sync', 's3://bucket/lake']);
  expect(code).toBe(2);
  expect(err).toMatch(
    /^error: s3:\/\/bucket\/lake is not a folder: rosterd writes lakes to folders only\nTry: .*copy it/,
  );
  expect(existsSync(join(world.folder, 's3:'))).toBe(false);
});
