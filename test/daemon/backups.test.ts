import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { type BackupsParts, startBackups } from '../../src/daemon/backups.js';
import { Fault } from '../../src/domain/fault.js';
import { backupsSeen } from '../../src/reading/backups.js';
import { HealthRegister } from '../../src/runtime/health-register.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { processSpace } from '../../src/runtime/process-identity.js';
import type { BackupMade } from '../../src/store/backup/made.js';
import { dialectFor } from '../../src/store/dialect/dialect-for.js';
import { tempFolder } from '../store/temp-folder.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const hour = 3_600_000;

/** Schedules backups on a clock that the test moves. */
function scheduled(more: Partial<BackupsParts> = {}, filled = true) {
  const clock = new VirtualClock(Date.parse('2026-11-01T00:00:00Z'));
  const folder = join(tempFolder(), 'backups');
  const register = new HealthRegister();
  const state = { failing: false, leads: true, filled, isLed: false, otherAhead: 0 };
  const announced: number[] = [];
  const backups = startBackups({
    settings: { everyMillis: 6 * hour, keep: 3, folder },
    names: { stem: 'mirror', end: '.db' },
    clock,
    logger: silentLogger,
    register,
    leads: () => state.leads,
    isFilled: async () => state.filled,
    isLed: () => state.isLed,
    otherNow: async () => clock.now() + state.otherAhead,
    announce: () => announced.push(clock.now()),
    announcedAt: () => announced.at(-1) ?? null,
    backUp: async (target) => {
      if (state.failing) throw new Fault('database_full', 'no room for the backup');
      mkdirSync(folder, { recursive: true });
      writeFileSync(target, 'x');
      return {
        file: target,
        format: 'sqlite',
        bytes: 1,
        schema: 1,
        rows: 1,
        tables: [],
        note: null,
        made_at: '2026-11-01T00:00:00.000Z' as never,
      };
    },
    ...more,
  });
  const names = () => {
    try {
      return readdirSync(folder).sort();
    } catch {
      return [];
    }
  };
  return { clock, folder, register, state, backups, names, announced };
}

test('scheduled backups: one when due, named by its time, and only the newest ones are kept', async () => {
  const { clock, folder, backups, names } = scheduled();
  await clock.advance(1_000);
  expect(names()).toEqual(['mirror-20261101T000000Z.db']);
  writeFileSync(join(folder, 'mirror-notes.db'), 'mine');
  writeFileSync(join(folder, 'other-20260101T000000Z.db'), 'of another mirror');
  await clock.advance(24 * hour);
  expect(names()).toEqual([
    ...['mirror-20261101T120100Z.db', 'mirror-20261101T180100Z.db', 'mirror-20261102T000100Z.db'].map(
      (name) => expect.stringMatching(new RegExp(name.replace(/\d{4}Z/, '\\d{4}Z'))),
    ),
    'mirror-notes.db',
    'other-20260101T000000Z.db',
  ]);
  await backups.close();
});

test('scheduled backups: one that cannot be deleted keeps no other, here and where another daemon leads now', async () => {
  const stuck: string[] = [];
  const logged: unknown[] = [];
  const { clock, register, state, backups, names, announced } = scheduled({
    logger: { ...silentLogger, info: (fields, message) => logged.push([fields.file, message]) },
    removeFile: (file) => {
      if (stuck.some((name) => file.endsWith(name)))
        throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
      rmSync(file);
    },
  });
  await clock.advance(19 * hour);
  const made = names();
  // The newest of those that are too old by then.
  stuck.push(made[0] ?? '');
  await clock.advance(24 * hour);
  expect(names()).toHaveLength(4);
  expect(names()).toContain(stuck[0]);
  expect(register.list()).toMatchObject([
    {
      text: expect.stringMatching(
        /^the scheduled backup failed: old backups cannot be deleted: .+ \(EPERM\) \(Delete them as the user who owns them\)$/,
      ),
    },
  ]);
  // Somebody lets it be deleted: the problem ends before the next backup.
  stuck.length = 0;
  await clock.advance(hour + 60_000);
  expect([names().length, register.list()]).toEqual([3, []]);
  const [newer = '', , oldest = ''] = names().toReversed();
  stuck.push(oldest, newer);
  state.failing = true;
  await clock.advance(100 * hour);
  Object.assign(state, { leads: false, isLed: true });
  announced.push(clock.now());
  const [deleted] = names().filter((name) => !stuck.includes(name));
  await clock.advance(2 * hour);
  expect(names()).toEqual([...stuck].sort());
  expect(register.list()).toMatchObject([{ text: expect.stringContaining('old backups cannot be deleted') }]);
  expect(logged).toContainEqual([
    expect.stringContaining(deleted ?? 'none'),
    'deleted a backup that this daemon made when it led',
  ]);
  await backups.close();
});

test('scheduled backups: one whose process a signal ended is no failure, and is made by the next look', async () => {
  let tried = 0;
  const { clock, register, backups } = scheduled({
    backUp: async () => {
      tried += 1;
      throw new Fault('stopped', 'the backup process was ended by SIGTERM');
    },
  });
  await clock.advance(61_000);
  expect(tried).toBe(2);
  expect(register.list()).toEqual([]);
  await backups.close();
});

test('scheduled backups: a restart makes none before it is due', async () => {
  const folder = join(tempFolder(), 'backups');
  mkdirSync(folder);
  writeFileSync(join(folder, 'mirror-20261031T230000Z.db'), 'x');
  const settings = { everyMillis: 6 * hour, keep: 3, folder };
  const { clock, backups } = scheduled({
    settings,
    backUp: async () => Promise.reject(new Error('too early')),
  });
  await clock.advance(4 * hour);
  expect(readdirSync(folder)).toEqual(['mirror-20261031T230000Z.db']);
  await backups.close();
});

test('scheduled backups: one dated in the future neither postpones the next one nor displaces real ones', async () => {
  const folder = join(tempFolder(), 'backups');
  mkdirSync(folder);
  const ahead = ['mirror-20361101T000000Z.db', 'mirror-20361102T000000Z.db', 'mirror-20361103T000000Z.db'];
  for (const name of ahead) writeFileSync(join(folder, name), 'x');
  writeFileSync(join(folder, 'mirror-20261031T220000Z.db'), 'x');
  const warned: unknown[] = [];
  const noted: unknown[] = [];
  const notes = ['pg_dump is missing'];
  const { clock, backups } = scheduled({
    settings: { everyMillis: 6 * hour, keep: 3, folder },
    logger: {
      ...silentLogger,
      warn: (fields) => warned.push(fields),
      debug: ({ hint }) => noted.push(hint),
    },
    backUp: async (target) => {
      writeFileSync(target, 'x');
      return { file: target, rows: 1, note: notes.shift() ?? null } as BackupMade;
    },
  });
  await clock.advance(3 * hour);
  expect(readdirSync(folder).sort()).toEqual(['mirror-20261031T220000Z.db', ...ahead]);
  await clock.advance(2 * hour);
  expect(readdirSync(folder).sort()).toEqual([
    'mirror-20261031T220000Z.db',
    expect.stringMatching(/^mirror-20261101T040\d\d\dZ\.db$/),
    ...ahead,
  ]);
  expect(warned).toEqual([{ file: join(folder, 'mirror-20361103T000000Z.db') }]);
  await clock.advance(24 * hour);
  expect(readdirSync(folder).filter((name) => name.startsWith('mirror-2026'))).toHaveLength(3);
  expect(noted).toEqual(['pg_dump is missing']);
  await backups.close();
});

test('a backup dated in the future does not hide that backups are overdue', () => {
  const folder = tempFolder();
  const database = { kind: 'sqlite', file: join(folder, 'mirror.db') } as const;
  const config = { database, backup: { everyMillis: 24 * hour, keep: 2, folder } } as unknown as Config;
  const { stem, end } = dialectFor(config.database).backupNames;
  for (const stamp of ['20361101T000000Z', '20261101T000000Z'])
    writeFileSync(join(folder, `${stem}-${stamp}${end}`), 'x');
  expect(backupsSeen(config, Date.parse('2026-11-04T00:00:00Z'))).toMatchObject({
    newest_at: '2026-11-01T00:00:00.000Z',
    overdue: true,
    count: 2,
  });
});

test('scheduled backups: a failure is reported until one succeeds, and retried with pauses', async () => {
  const { clock, register, state, backups, names } = scheduled();
  state.failing = true;
  await clock.advance(1_000);
  const [problem] = register.list();
  expect(problem).toEqual({
    key: 'backup',
    severity: 'attention',
    text: 'the scheduled backup failed: no room for the backup',
    since: '2026-11-01T00:00:00.000Z',
  });
  await clock.advance(hour);
  expect(register.list()).toEqual([problem]);
  state.failing = false;
  await clock.advance(hour);
  expect(register.list()).toEqual([]);
  expect(names()).toHaveLength(1);
  await backups.close();
});

test('scheduled backups: none before the first listing is complete, nor by a daemon that does not lead', async () => {
  const { clock, state, backups, names } = scheduled({}, false);
  await clock.advance(hour);
  state.filled = true;
  state.leads = false;
  await clock.advance(hour);
  expect(names()).toEqual([]);
  state.leads = true;
  await clock.advance(hour);
  expect(names()).toHaveLength(1);
  await backups.close();
});

test('scheduled backups: those that an earlier process could not delete are deleted by the leader after a restart, before the next one', async () => {
  const folder = tempFolder();
  const hours = ['00', '01', '02', '03', '04'];
  for (const name of hours) writeFileSync(join(folder, `mirror-20261031T${name}0000Z.db`), 'x');
  writeFileSync(join(folder, 'mirror-20261031T230000Z.db'), 'x');
  const { clock, state, register } = scheduled({ settings: { everyMillis: 6 * hour, keep: 3, folder } });
  state.leads = false;
  await clock.advance(1_000);
  expect(readdirSync(folder)).toHaveLength(6);
  state.leads = true;
  await clock.advance(60_000);
  expect(register.list()).toEqual([]);
  expect(readdirSync(folder).sort()).toEqual(
    ['03', '04', '23'].map((name) => `mirror-20261031T${name}0000Z.db`),
  );
});

test('scheduled backups: a daemon that does not know yet whether it leads deletes none but what killed processes left', async () => {
  const { clock, folder, state, backups, names } = scheduled();
  await clock.advance(13 * hour);
  const made = names();
  expect(made).toHaveLength(3);
  state.leads = false;
  // No process has this number. Of another container, it is not known whether the process goes on.
  const left = [`4194999-${processSpace()}`, '1-4026531000-0123456789ab'].map((name) =>
    join(folder, `.mirror-20261101T000000Z.db.${name}.tmp`),
  );
  for (const file of left) writeFileSync(file, 'Quillfeather');
  for (const file of left) utimesSync(file, clock.now() / 1_000, clock.now() / 1_000);
  await clock.advance(hour);
  expect(left.map((file) => existsSync(file))).toEqual([false, true]);
  // As after a start: it is not known yet who leads.
  await clock.advance(100 * hour);
  expect(names()).toEqual(made);
  await backups.close();
});

test('scheduled backups: a failure stays known while no daemon leads, and ends where another one leads', async () => {
  const { clock, state, register, backups } = scheduled();
  state.failing = true;
  await clock.advance(1_000);
  const failed = [{ key: 'backup', text: 'the scheduled backup failed: no room for the backup' }];
  expect(register.list()).toMatchObject(failed);
  // As while the heartbeats of the whole fleet fail.
  state.leads = false;
  await clock.advance(10 * 60_000);
  expect(register.list()).toMatchObject(failed);
  state.isLed = true;
  await clock.advance(10 * 60_000);
  expect(register.list()).toEqual([]);
  await backups.close();
});

test('scheduled backups: the leader announces a recent one every minute, and nothing once it is too old', async () => {
  const { clock, state, backups, announced } = scheduled();
  await clock.advance(13 * hour);
  const last = Math.max(...announced);
  expect(last).toBeGreaterThan(clock.now() - 120_000);
  state.failing = true;
  await clock.advance(20 * hour);
  expect(Math.max(...announced) - last).toBeLessThan(6 * hour);
  await backups.close();
});

test('scheduled backups: a daemon that no longer leads deletes its own by their age, the newest when the leader has newer ones', async () => {
  const { clock, folder, state, backups, names, announced } = scheduled();
  await clock.advance(13 * hour);
  const made = names();
  const ledUntil = clock.now();
  Object.assign(state, { leads: false, isLed: true });
  writeFileSync(join(folder, 'mirror-20361101T000000Z.db'), 'dated in the future');
  writeFileSync(join(folder, 'other-20260101T000000Z.db'), 'of another mirror');
  const others = ['mirror-20361101T000000Z.db', 'other-20260101T000000Z.db'];
  await clock.advance(4 * hour);
  expect(names()).toEqual([...made, ...others]);
  await clock.advance(2 * hour);
  expect(names()).toEqual([...made.slice(1), ...others]);
  // In a shared folder, the newest may be the last one that there is, if the leader fails to make more.
  await clock.advance(16 * hour);
  expect(names()).toEqual([...made.slice(2), ...others]);
  await clock.advance(100 * hour);
  expect(names()).toEqual([...made.slice(2), ...others]);
  // It announces nothing itself, and one that is no more than twice the interval newer may be the same.
  expect(Math.max(...announced)).toBeLessThanOrEqual(ledUntil);
  const newest = Date.parse('2026-11-01T12:00:00Z');
  announced.push(newest + 12 * hour);
  await clock.advance(hour);
  expect(names()).toEqual([...made.slice(2), ...others]);
  announced.push(newest + 12 * hour + 1_000);
  await clock.advance(hour);
  expect(names()).toEqual(others);
  await backups.close();
});

test('scheduled backups: a daemon that does not lead deletes none by a clock that is ahead, and none that are within keep', async () => {
  const { clock, folder, state, backups, names } = scheduled();
  await clock.advance(13 * hour);
  Object.assign(state, { leads: false, isLed: true });
  state.otherAhead = -20 * hour;
  const made = names();
  await clock.advance(22 * hour);
  expect(names()).toEqual(made);
  // More than `keep`, as after a change of the configuration.
  writeFileSync(join(folder, 'mirror-20261031T235900Z.db'), 'the oldest');
  await clock.advance(hour);
  expect(names()).toEqual(made);
  state.otherAhead = 0;
  await clock.advance(hour);
  expect(names()).toEqual(made.slice(2));
  await backups.close();
});
