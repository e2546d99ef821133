import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { checkLake } from '../../../src/exports/lake/check-lake.js';
import { type LakeDisk, systemLakeDisk } from '../../../src/exports/lake/disk.js';
import type { Fixture } from '../../store/mirror-fixture.js';
import { mirrorFixture } from '../../store/mirror-fixture.js';
import { identity, record, tombstone } from '../../store/samples.js';
import { tempFolder } from '../../store/temp-folder.js';
import { testRandom } from '../../support/chance.js';
import { compiledScript } from '../../support/compiled-script.js';
import { contentOf, filesOf, lakeRows, mirrorRows, sync } from './world.js';

/**
 * A disk that does nothing from the given change on, as in a crash. A sync changes nothing that this crash would leave, nor
 * does a folder that exists: a crash before them leaves the same files as one before the next change.
 */
function dyingDisk(at: number, chosen: number): { readonly disk: LakeDisk; readonly done: () => number } {
  let count = 0;
  let dataFiles = 0;
  let dead = false;
  const isChosen = (...paths: readonly unknown[]): boolean => {
    if (!paths.some((path) => String(path).endsWith('.parquet'))) return true;
    dataFiles += 1;
    return dataFiles % dataFilesPer === chosen;
  };
  const wrapped =
    <Args extends readonly unknown[]>(
      work: (...args: Args) => Promise<void>,
      changes: (...args: Args) => boolean = () => true,
    ) =>
    async (...args: Args): Promise<void> => {
      if (dead) throw new Error('crashed');
      const counts = changes(...args) && isChosen(...args);
      if (counts) count += 1;
      dead = counts && count === at;
      if (dead) throw new Error('crashed');
      await work(...args);
    };
  const never = () => false;
  const disk: LakeDisk = {
    write: wrapped(systemLakeDisk.write),
    sync: wrapped(systemLakeDisk.sync, never),
    rename: wrapped(systemLakeDisk.rename),
    syncFolder: wrapped(systemLakeDisk.syncFolder, never),
    makeFolder: wrapped(systemLakeDisk.makeFolder, (path) => !existsSync(path)),
    protect: wrapped(systemLakeDisk.protect),
    remove: wrapped(systemLakeDisk.remove, existsSync),
  };
  return { disk, done: () => count };
}

/** The changes of data files are alike: one in so many is a moment to crash at. The seed chooses which. */
const dataFilesPer = 3;
const oneOfThem = (): number => Math.floor(testRandom().fraction() * dataFilesPer);

async function world(): Promise<{ readonly fixture: Fixture; readonly folder: string }> {
  const fixture = await mirrorFixture();
  await fixture.list([
    Array.from({ length: 6 }, (_, at) => record(`inv_${at}`, {}, identity(`Person${at}`))),
  ]);
  return { fixture, folder: join(tempFolder(), 'lake') };
}

const asked = { identity: true, keep: 2, compact: true };

async function changed(fixture: Fixture, round: number): Promise<void> {
  await fixture.delta([
    record('inv_1', { status: `s${round}` }, identity(`Person1of${round}`)),
    record(`inv_new${round}`, {}, identity(`New${round}`)),
    tombstone(`inv_new${round - 1}`),
  ]);
}

test('lake: a crash before a file operation leaves the previous snapshot or the new one, complete, and the next sync ends it', async () => {
  const { fixture, folder } = await world();
  await sync(fixture, folder, asked);
  let seen = await mirrorRows(fixture);
  const chosen = oneOfThem();
  let crashes = 0;
  for (let at = 1; ; at += 1) {
    await changed(fixture, at);
    const now = await mirrorRows(fixture);
    const { disk, done } = dyingDisk(at, chosen);
    const crashed = await sync(fixture, folder, { ...asked, disk }).then(
      () => false,
      () => true,
    );
    expect(await checkLake(folder, () => {})).toMatchObject({ problems: [] });
    const rows = await lakeRows(folder);
    expect([seen, now]).toContainEqual(rows);
    seen = rows;
    if (!crashed) {
      expect(at).toBeGreaterThan(done());
      break;
    }
    crashes += 1;
  }
  expect(crashes).toBeGreaterThan(12);
  await sync(fixture, folder, asked);
  expect(await lakeRows(folder)).toEqual(await mirrorRows(fixture));
  // Nothing of the crashed attempts is left, and nothing of people who are not in the mirror any more.
  expect(filesOf(folder).filter((file) => /\.sync-|\.new$|_lock/.test(file))).toEqual([]);
  expect(await contentOf(folder)).not.toContain('Person1of1"');
});

test('lake: a crash during the very first sync leaves a folder that the next one accepts', async () => {
  const { fixture, folder } = await world();
  const chosen = oneOfThem();
  for (let at = 1; ; at += 1) {
    const { disk } = dyingDisk(at, chosen);
    const crashed = await sync(fixture, folder, { ...asked, disk }).then(
      () => false,
      () => true,
    );
    if (!crashed) break;
  }
  expect(await lakeRows(folder)).toEqual(await mirrorRows(fixture));
});

const script = fileURLToPath(new URL('./dying-sync.ts', import.meta.url));

// One is early, one in the middle and one after the new snapshot is current; the tests above crash at the others too.
test.each([
  ['protect', 1],
  ['rename', 4],
  ['remove', 2],
])(
  'lake: a process killed at %s %i leaves a complete snapshot, and its lock is taken over',
  async (step, nth) => {
    const { fixture, folder } = await world();
    await sync(fixture, folder, asked);
    const before = await mirrorRows(fixture);
    await changed(fixture, 1);
    const file = fixture.store.kind === 'sqlite' ? fixture.store.sqlite.file : '';
    const child = spawn(process.execPath, [await compiledScript(script), file, folder, step, String(nth)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const [, signal] = await once(child, 'exit');
    expect(signal).toBe('SIGKILL');
    expect(readdirSync(folder)).toContain('_lock');
    expect(await checkLake(folder, () => {})).toMatchObject({ problems: [] });
    expect([before, await mirrorRows(fixture)]).toContainEqual(await lakeRows(folder));
    await sync(fixture, folder, asked);
    expect(await lakeRows(folder)).toEqual(await mirrorRows(fixture));
    expect(filesOf(folder).filter((name) => /\.sync-|_lock/.test(name))).toEqual([]);
  },
);

test('lake: a second process is refused while one writes', async () => {
  const { fixture, folder } = await world();
  let refused: unknown;
  const disk: LakeDisk = {
    ...systemLakeDisk,
    protect: async (path) => {
      refused ??= await sync(fixture, folder, asked).catch((error: unknown) => error);
      await systemLakeDisk.protect(path);
    },
  };
  await sync(fixture, folder, { ...asked, disk });
  expect(refused).toMatchObject({ code: 'database_busy' });
  expect(await lakeRows(folder)).toEqual(await mirrorRows(fixture));
});
