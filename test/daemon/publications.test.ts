import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { conditionsOf } from '../../src/daemon/alert-conditions.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { startExports, startLake } from '../../src/daemon/publications.js';
import { checkExport } from '../../src/reading/export-manifest.js';
import { mirrorName, publishedExports } from '../../src/reading/exports-folder.js';
import { checkLake, lakeHasPeople } from '../../src/reading/lake.js';
import { exportsSeen, lakeSeen } from '../../src/reading/publications.js';
import { statusOf } from '../../src/reading/status.js';
import { systemClock } from '../../src/runtime/clock.js';
import { HealthRegister } from '../../src/runtime/health-register.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { syncOnce } from '../../src/tasks/sync-once.js';
import { contentOf } from '../exports/lake/world.js';
import { sheetsOf } from '../exports/workbook.js';
import { dialect, test as onBoth } from '../store/both-databases.js';
import { freshStore, mirrorFixture, placeOf } from '../store/mirror-fixture.js';
import { identity, record, tombstone } from '../store/samples.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const hour = 3_600_000;
const off = { everyMillis: null, keep: 2, folder: '/nowhere', identity: false } as const;

const published = ({ database, exports }: Pick<Config, 'database' | 'exports'>) =>
  publishedExports(exports.folder, mirrorName(database)).exports;

/**
 * Schedules exports and a lake of a filled mirror on a clock that the test moves. A mirror on PostgreSQL is exported in this
 * process: tests that are not about the process of SQLite's exports use one.
 */
async function scheduled(names: boolean, kind = dialect()) {
  const fixture = await mirrorFixture({ store: await freshStore(kind) });
  await fixture.list([
    [record('inv_1', { extra: '{"a":1}' as never }, identity('Quillfeather')), record('inv_2')],
  ]);
  const clock = new VirtualClock(Date.parse('2026-11-01T00:00:00Z'));
  const folder = freshFolder();
  const register = new HealthRegister();
  const state = { leads: true, isLed: false };
  const tables = names ? (['roster', 'changes'] as const) : (['investments', 'round_totals'] as const);
  const config = {
    database: placeOf(fixture.store) as never,
    exports: {
      ...{ everyMillis: 6 * hour, keep: 2, folder: join(folder, 'exports') },
      ...{ format: 'csv' as const, tables, identity: names },
    },
    lake: { everyMillis: hour, keep: 3, folder: join(folder, 'lake'), identity: names },
  };
  const parts = {
    ...{ config, clock, register, logger: silentLogger },
    leads: () => state.leads,
    isFilled: async () => true,
    isLed: () => state.isLed,
    otherNow: async () => clock.now(),
  };
  return { fixture, clock, folder, register, state, config, parts };
}

/** Waits for work in child processes, which the virtual clock does not know. A schedule sleeps when it is done. */
const until = (check: () => unknown, expected: unknown) =>
  expect.poll(check, { interval: 100 }).toEqual(expected);

/** Hours in which only the last minutes have a look at the files: those before would find nothing to do. */
async function pass(clock: VirtualClock, hours: number): Promise<void> {
  clock.jump(hours * hour - 2 * 60_000);
  await clock.advance(2 * 60_000);
}

test('scheduled exports: a folder named by its time with a file for each table and a manifest, only the newest kept', async () => {
  const { clock, config, parts } = await scheduled(false, 'postgres');
  const { folder } = config.exports;
  // Left by a killed process, when the export is complete: it is deleted after that, too.
  const left = join(folder, `.unfinished-${mirrorName(config.database)}-abcdefgh`);
  const warned: object[] = [];
  const exports = startExports({
    ...parts,
    logger: {
      ...silentLogger,
      info: () => mkdirSync(left, { recursive: true }),
      warn: (fields) => void warned.push(fields),
    },
  });
  await until(() => clock.sleeping, 1);
  const [first] = published(config);
  expect(readdirSync(first?.folder ?? '').sort()).toEqual([
    'investments.csv',
    'manifest.json',
    'round_totals.csv',
  ]);
  expect(readdirSync(folder)).toEqual(['20261101T000000Z']);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(first?.folder ?? '').mode & 0o777).toBe(0o700);
  expect(statSync(join(first?.folder ?? '', 'investments.csv')).mode & 0o777).toBe(0o600);
  expect(await checkExport(join(first?.folder ?? '', 'manifest.json'))).toMatchObject({
    files: 2,
    rows: 3,
    problems: [],
  });
  expect(readFileSync(join(first?.folder ?? '', 'investments.csv'), 'utf8')).not.toMatch(
    /Quillfeather|""a""/,
  );
  mkdirSync(join(folder, 'notes'));
  const ahead = '20361101T000000Z';
  cpSync(first?.folder ?? '', join(folder, ahead), { recursive: true });
  for (const _ of [2, 3]) {
    await pass(clock, 6);
    await until(() => clock.sleeping, 1);
  }
  expect(readdirSync(folder).sort()).toEqual(['20261101T060000Z', '20261101T120000Z', ahead, 'notes']);
  expect(warned).toContainEqual({ file: join(folder, ahead) });
  await exports?.close();
  // What the process before could not delete does not wait for the next one.
  const after = startExports({ ...parts, config: { ...config, exports: { ...config.exports, keep: 1 } } });
  await until(() => readdirSync(folder).sort(), ['20261101T120000Z', ahead, 'notes']);
  await after?.close();
});

test('scheduled exports and lake: a failure is reported until one succeeds, and a daemon that does not lead makes none', async () => {
  const { clock, folder, register, state, config, parts } = await scheduled(false, 'postgres');
  writeFileSync(config.exports.folder, 'a file in the way');
  writeFileSync(config.lake.folder, 'a file in the way');
  const jobs = [startExports(parts), startLake(parts)];
  await until(
    () =>
      register
        .list()
        .map(({ key }) => key)
        .sort(),
    ['export', 'lake'],
  );
  expect(register.list().find(({ key }) => key === 'export')?.text).toMatch(
    /^the scheduled export failed: cannot write to /,
  );
  expect(register.list().find(({ key }) => key === 'lake')?.text).toMatch(
    /^the scheduled sync of the lake failed: /,
  );
  Object.assign(state, { leads: false, isLed: true });
  await clock.advance(hour);
  expect(register.list()).toEqual([]);
  expect(readdirSync(folder).sort()).toEqual(['exports', 'lake']);
  await Promise.all(jobs.map((job) => job?.close()));
});

test('scheduled lake: it follows the mirror, and nothing is scheduled without `every`', async () => {
  const { fixture, clock, config, parts } = await scheduled(false, 'postgres');
  const lake = startLake(parts);
  const snapshot = () =>
    checkLake(config.lake.folder, () => {}).then(
      ({ snapshot: number }) => number,
      () => 0,
    );
  await until(snapshot, 1);
  await until(() => clock.sleeping, 1);
  await fixture.delta([record('inv_3')]);
  await clock.advance(hour + 60_000);
  await until(snapshot, 2);
  await lake?.close();
  const none = { ...config, exports: { ...config.exports, ...off }, lake: off };
  expect([startExports({ ...parts, config: none }), startLake({ ...parts, config: none })]).toEqual([
    null,
    null,
  ]);
});

onBoth(
  'scheduled exports and lake: with identity they name people, and each daemon erases from its own whom another process forgot',
  async () => {
    const { fixture, clock, state, config, parts } = await scheduled(true);
    const jobs = [startExports(parts), startLake(parts)];
    await until(() => [published(config).length, lakeHasPeople(config.lake.folder)], [1, true]);
    await until(() => clock.sleeping, 2);
    const [first] = published(config);
    expect(readFileSync(join(first?.folder ?? '', 'roster.csv'), 'utf8')).toContain('Quillfeather');
    expect(JSON.parse(readFileSync(join(first?.folder ?? '', 'manifest.json'), 'utf8'))).toMatchObject({
      identity: true,
    });
    await pass(clock, 6);
    await until(() => [published(config).length, clock.sleeping], [2, 2]);
    expect(await contentOf(config.lake.folder)).toContain('Quillfeather');
    // On PostgreSQL, a member that does not lead.
    state.leads = dialect() === 'sqlite';
    await clock.advance(60_000);
    await until(() => clock.sleeping, 2);
    expect(published(config)).toHaveLength(2);
    // Another host forgets, which sees neither folder, or a process that is killed before it cleans them.
    await fixture.erasures.forget('inv_1' as never, () => {});
    const rosters = () =>
      published(config).map((one) => readFileSync(join(one.folder, 'roster.csv'), 'utf8'));
    const isNamed = async () => `${rosters()}${await contentOf(config.lake.folder)}`.includes('Quillfeather');
    await until(async () => {
      await clock.advance(60_000);
      // While the lake is rewritten, files vanish between listing and reading them.
      return await isNamed().catch(() => true);
    }, false);
    await Promise.all(jobs.map((job) => job?.close()));
  },
);

test('scheduled exports and lake: a member that no longer leads keeps no person whom the platform deleted since', async () => {
  const { fixture, clock, state, config: plain, parts: more } = await scheduled(true);
  // Each minute that passes is a look at the files.
  const soon = { everyMillis: 2 * 60_000, keep: 1 };
  const config = {
    ...plain,
    ...{ exports: { ...plain.exports, ...soon }, lake: { ...plain.lake, ...soon } },
  };
  const parts = { ...more, config };
  const jobs = [startExports(parts), startLake(parts)];
  await until(() => [published(config).length, lakeHasPeople(config.lake.folder)], [1, true]);
  await until(() => clock.sleeping, 2);
  // A member that has just started does not know who leads. It writes its lake once, for requests to forget before.
  state.leads = false;
  await clock.advance(5 * 60_000);
  await until(() => clock.sleeping, 2);
  await fixture.delta([tombstone('inv_1')]);
  expect(published(config)).toHaveLength(1);
  state.isLed = true;
  await until(async () => {
    await clock.advance(60_000);
    const people = await contentOf(config.lake.folder).catch(() => 'Quillfeather');
    return [published(config).length, people.includes('Quillfeather')];
  }, [0, false]);
  await Promise.all(jobs.map((job) => job?.close()));
});

test('scheduled exports: a member that does not lead deletes all but the newest of its own', async () => {
  const { clock, state, config, parts } = await scheduled(false, 'postgres');
  const first = startExports(parts);
  for (const count of [1, 2]) {
    await until(() => [published(config).length, clock.sleeping], [count, 1]);
    await pass(clock, 6);
  }
  await until(() => clock.sleeping, 1);
  await first?.close();
  expect(published(config)).toHaveLength(2);
  // The first is what an earlier deletion left. The second may be what the leader is writing.
  const [doomed = '', unfinished = ''] = ['deleted', 'unfinished'].map((what) =>
    join(config.exports.folder, `.${what}-${mirrorName(config.database)}-abcdefgh`),
  );
  for (const path of [doomed, unfinished]) mkdirSync(path);
  writeFileSync(join(doomed, 'roster.csv'), 'Quillfeather');
  state.leads = false;
  const exports = { ...config.exports, keep: 1 };
  const second = startExports({ ...parts, config: { ...config, exports } });
  await until(() => published(config).length, 1);
  await until(() => clock.sleeping, 1);
  expect([existsSync(doomed), existsSync(unfinished)]).toEqual([false, true]);
  // Without names, the newest stays, however old it is. What is unfinished was abandoned a day after its last change.
  state.isLed = true;
  const written = (path: string, time: number) => utimesSync(path, time / 1_000, time / 1_000);
  writeFileSync(join(unfinished, 'roster.csv'), 'Quillfeather');
  written(join(unfinished, 'roster.csv'), clock.now());
  written(unfinished, clock.now() - 30 * hour);
  await pass(clock, 24);
  await until(() => clock.sleeping, 1);
  expect([published(config).length, existsSync(unfinished)]).toEqual([1, true]);
  await pass(clock, 1);
  await until(() => [clock.sleeping, existsSync(unfinished)], [1, false]);
  expect(published(config)).toHaveLength(1);
  await second?.close();
});

test('a daemon writes the exports and the lake of its configuration, and status, metrics and alerts report their age', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 60 });
  const folder = freshFolder();
  const plain = configFor(sandbox, { folder });
  const config = {
    ...plain,
    exports: {
      ...{ everyMillis: 24 * hour, keep: 2, folder: join(folder, 'exports'), format: 'xlsx' as const },
      ...{ tables: ['investments', 'companies'] as const, identity: false },
    },
    lake: { everyMillis: 24 * hour, keep: 2, folder: join(folder, 'lake'), identity: false },
  };
  await syncOnce(partsFor(plain), {}, new AbortController().signal);
  const daemon = await startDaemon(partsFor(config));
  await until(() => published(config).length, 1);
  const [made] = published(config);
  const [sheet] = sheetsOf(readFileSync(join(made?.folder ?? '', 'investments.xlsx')));
  expect(sheet?.name).toBe('investments');
  await until(
    () =>
      checkLake(config.lake.folder, () => {}).then(
        ({ problems }) => problems,
        () => null,
      ),
    [],
  );
  const status = await (await fetch(`${daemon.consoleUrl}/status.json`)).json();
  expect(status).toMatchObject({
    exports: { count: 1, newest_at: made?.made_at, newest_folder: made?.folder, overdue: false },
    lake: { folder: config.lake.folder, synced_at: expect.any(String), overdue: false },
  });
  const metrics = await (await fetch(`${daemon.consoleUrl}/metrics`)).text();
  expect(metrics).toMatch(/^rosterd_export_last_success_timestamp_seconds \d+$/m);
  expect(metrics).toMatch(/^rosterd_lake_last_success_timestamp_seconds [\d.]+$/m);
  await daemon.close();
  const later = { ...systemClock, now: () => Date.now() + 26 * hour };
  const seen = await statusOf(config.database, later, config);
  expect([seen.exports?.overdue, seen.lake?.overdue]).toEqual([true, true]);
  // Its time is in the future once the clock that was ahead is right again.
  expect(lakeSeen(config as never, Date.now() - 40 * 24 * hour)).toMatchObject({ overdue: true });
  const facts = { status: seen, freeBytes: null, failingSince: new Map(), uncheckedSince: null };
  const conditions = conditionsOf(facts, { failingMinutes: 15, diskFreeMegabytes: 1_024 }, later.now());
  expect(conditions.filter(({ source }) => source === null).map(({ text }) => text)).toEqual([
    expect.stringContaining('the scheduled export is overdue'),
    expect.stringContaining('the scheduled sync of the lake is overdue'),
  ]);
});

test('status: exports and a lake that cannot be read have no newest one, and without a schedule there is no entry', async () => {
  const { config } = await scheduled(false);
  mkdirSync(config.lake.folder, { recursive: true });
  writeFileSync(join(config.lake.folder, '_current.json'), '{"torn');
  writeFileSync(config.exports.folder, 'not a folder');
  const now = Date.parse('2026-11-01T00:00:00Z');
  expect(exportsSeen(config as never, now)).toMatchObject({ count: 0, newest_at: null, overdue: false });
  expect(lakeSeen(config as never, now)).toMatchObject({ synced_at: null, overdue: false });
  const without = { ...config, exports: { ...config.exports, ...off }, lake: { ...config.lake, ...off } };
  expect([exportsSeen(without as never, now), lakeSeen(without as never, now)]).toEqual([null, null]);
});
