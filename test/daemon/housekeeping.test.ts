import { existsSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { startHousekeeping } from '../../src/daemon/housekeeping.js';
import { maintenanceOf } from '../../src/daemon/maintenance.js';
import type { OpenMirror } from '../../src/daemon/mirror-parts.js';
import { isScrubDue } from '../../src/daemon/scrub-job.js';
import { scrubWords } from '../../src/daemon/scrub-words.js';
import { Fault } from '../../src/domain/fault.js';
import type { Instant } from '../../src/domain/instant.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';
import { backupsOf, removeBackups, removeErasedBackups } from '../../src/store/dialect/sqlite/backups.js';
import { purgeHistory, purgeTicks } from '../../src/store/dialect/sqlite/purge.js';
import type { PendingErasures, Scrubbed } from '../../src/store/erasures.js';
import { requireReach } from '../../src/store/reads/as-of.js';
import { withViews } from '../../src/store/reads/views.js';
import { freshMirror, seedHistory, seedRow, seedSource } from '../store/support/mirror.js';
import { tempFolder } from '../store/temp-folder.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const now = Date.parse('2026-10-20T12:00:00.000Z');
const minutes = (count: number) => count * 60_000;
const since = (age: number) => new Date(now - minutes(age)).toISOString() as Instant;
const usual = {
  platform: { aheadMillis: 0, sinceObservedMillis: 0 },
  askPlatform: async () => {},
  logger: silentLogger,
  words: scrubWords.sqlite,
  removeBackups: () => {},
};
const nothing: PendingErasures = { receipts: 0, since: null, residue: false, listing: false };

test.each<[string, Partial<PendingErasures>, number | null, boolean]>([
  ['nothing waits', {}, null, false],
  ['an erasure, and none was scrubbed yet', { since: since(0) }, null, true],
  ['an erasure soon after a scrub', { since: since(1) }, minutes(9), false],
  ['an erasure ten minutes after a scrub', { since: since(1) }, minutes(10), true],
  ['an erasure during a listing', { since: since(11), listing: true }, null, false],
  ['an overdue one during a listing', { since: since(12), listing: true }, null, true],
  [
    'an erasure ten minutes in the future, during a listing',
    { since: since(-10), listing: true },
    null,
    false,
  ],
  ['an erasure further in the future, during a listing', { since: since(-10.5), listing: true }, null, true],
  ['an overdue one soon after a scrub', { since: since(12) }, minutes(1), true],
  ['a replaced value', { residue: true }, null, true],
  ['a replaced value within the hour', { residue: true }, minutes(59), false],
  ['a replaced value after an hour', { residue: true }, minutes(60), true],
  ['a replaced value during a listing', { residue: true, listing: true }, null, false],
])('scrub schedule, %s: due %s', (_, pending, restedMillis, due) => {
  expect(isScrubDue({ ...nothing, ...pending }, now, restedMillis)).toBe(due);
});

test('a scrub that cannot finish backs off, however often it is requested, and runs at once after a success', async () => {
  const clock = new VirtualClock(now);
  const tried: number[] = [];
  let receipts = 1;
  let blocked = true;
  const housekeeping = startHousekeeping({
    ...usual,
    clock,
    pending: () => (receipts === 0 ? nothing : { ...nothing, receipts, since: since(20) }),
    scrub: async () => {
      tried.push((clock.now() - now) / 1000);
      if (blocked) return { kind: 'blocked', erasures: receipts, rewritten: 0 };
      receipts = 0;
      return { kind: 'scrubbed', erasures: 1 };
    },
    purge: async () => 0,
  });
  for (let second = 0; second < 3600; second += 10) {
    housekeeping.look();
    await clock.advance(10_000);
  }
  expect(tried.slice(0, 7)).toEqual([0, 30, 90, 210, 450, 750, 1050]);
  expect(tried.length).toBeLessThanOrEqual(16);
  blocked = false;
  await clock.advance(minutes(5));
  expect(receipts).toBe(0);
  receipts = 1;
  blocked = true;
  tried.length = 0;
  await clock.advance(minutes(1));
  await housekeeping.close();
  expect(tried).toHaveLength(2);
});

test.each([
  ['sqlite', 'in the file: another process reads or writes it'],
  ['postgres', 'in the tables: an older transaction may still see them'],
] as const)(
  'a blocked scrub on %s is retried and logged once; failures do not stop the background jobs',
  async (kind, why) => {
    const clock = new VirtualClock(now);
    const results: (Scrubbed | Error)[] = [
      { kind: 'blocked', erasures: 1, rewritten: 7 },
      new Error('the disk went away'),
      { kind: 'blocked', erasures: 1, rewritten: 7 },
      { kind: 'scrubbed', erasures: 1 },
    ];
    const asked: number[] = [];
    const warned: string[] = [];
    let waiting = true;
    const housekeeping = startHousekeeping({
      ...usual,
      words: scrubWords[kind],
      clock,
      logger: { ...silentLogger, warn: (_, message) => warned.push(message) },
      pending: () => (waiting ? { ...nothing, receipts: 1, since: since(0) } : nothing),
      scrub: async (rewritten) => {
        asked.push(rewritten);
        const result = results.shift();
        if (result === undefined || result instanceof Error) throw result;
        waiting = result.kind !== 'scrubbed';
        return result;
      },
      purge: async () => 0,
    });
    for (let look = 0; look < 8; look += 1) await clock.advance(30_000);
    await housekeeping.close();
    // The progress of a blocked scrub is passed to the next one, which need not rewrite the file again.
    expect(asked).toEqual([0, 7, 7, 7]);
    expect(warned).toEqual([expect.stringContaining(why), expect.stringContaining('retrying')]);
  },
);

test('a scrub whose process a signal ended is no failure, and is repeated', async () => {
  const clock = new VirtualClock(now);
  const warned: string[] = [];
  let tried = 0;
  const housekeeping = startHousekeeping({
    ...usual,
    clock,
    logger: { ...silentLogger, warn: (_, message) => warned.push(message) },
    pending: () => ({ ...nothing, receipts: 1, since: since(0) }),
    scrub: async () => {
      tried += 1;
      throw new Fault('stopped', 'the scrub process was ended by SIGINT');
    },
    purge: async () => 0,
  });
  await clock.advance(30_000);
  await housekeeping.close();
  expect(warned).toEqual([]);
  expect(tried).toBe(2);
});

test('a database that stays locked is logged once, and again after it was free in between', async () => {
  const clock = new VirtualClock(now);
  let warned = 0;
  let locked = true;
  const housekeeping = startHousekeeping({
    ...usual,
    clock,
    logger: {
      ...silentLogger,
      warn: () => {
        warned += 1;
      },
    },
    pending: () => nothing,
    scrub: async () => ({ kind: 'clean' }),
    purge: async () => {
      if (locked) throw new Error('another program holds the write lock');
      return 0;
    },
  });
  for (let tick = 0; tick < 120; tick += 1) {
    housekeeping.look();
    await clock.advance(60_000);
  }
  expect(warned).toBe(1);
  locked = false;
  await clock.advance(minutes(61));
  locked = true;
  await clock.advance(minutes(61));
  await housekeeping.close();
  expect(warned).toBe(2);
});

test('a query for a purged time is refused, for the purged source only', async () => {
  const mirror = freshMirror();
  for (const no of [1, 2]) seedSource(mirror, no);
  const version = (id: string, from: string, to: string) =>
    seedHistory(mirror, 1, id, { valid_from: from, valid_to: to, change_seq: 1, ended_by: 'update' });
  version('inv_1', '2026-10-01T00:00:00.000Z', '2026-10-03T00:00:00.000Z');
  version('inv_1', '2026-10-03T00:00:00.000Z', '2026-10-05T00:00:00.000Z');
  version('inv_1', '2026-10-05T00:00:00.000Z', '2026-10-10T00:00:00.000Z');
  const db = withViews(mirror.kysely);
  const at = (day: string) => `2026-10-${day}T00:00:00.000Z` as Instant;
  await requireReach(db, at('02'));
  expect(purgeHistory(mirror, at('10'))).toBe(2);
  expect(purgeHistory(mirror, at('10'))).toBe(0);
  await requireReach(db, at('05'));
  await requireReach(db, at('02'), 'source2');
  await expect(requireReach(db, at('04'), 'source1')).rejects.toThrow(/source1 reaches back to 2026-10-05/);
  await expect(requireReach(db, at('04'))).rejects.toThrow(/reaches back/);
  const reach = mirror.raw.prepare('SELECT source, history_from FROM sync_status ORDER BY 1').all();
  expect(reach).toEqual([
    { source: 'source1', history_from: '2026-10-05T00:00:00.000Z' },
    { source: 'source2', history_from: '2026-10-01T00:00:00.000Z' },
  ]);
});

test('housekeeping: ticks older than their retention are deleted', () => {
  const mirror = freshMirror();
  seedSource(mirror, 1);
  const tick = { trigger: 'timer', mode: 'delta', took_ms: 1, pages: 1, added: 0, changed: 0, removed: 0 };
  for (const started_at of ['2026-01-01T00:00:00.000Z', '2026-10-01T00:00:00.000Z'])
    seedRow(mirror, 'tick_rows', { source_no: 1, ...tick, quarantined: 0, outcome: 'done', started_at });
  expect(purgeTicks(mirror, '2026-07-01T00:00:00.000Z' as Instant, { upTo: 0 })).toBe(1);
  expect(mirror.raw.prepare('SELECT started_at FROM tick_rows').pluck().all()).toEqual([
    '2026-10-01T00:00:00.000Z',
  ]);
});

test('ticks expire behind ticks dated in the future, a batch at a time', () => {
  const mirror = freshMirror();
  seedSource(mirror, 1);
  const insert = mirror.raw.prepare(
    `INSERT INTO tick_rows (source_no, trigger, mode, started_at, took_ms, pages, added, changed, removed, quarantined, outcome)
     VALUES (1, 'timer', 'delta', ?, 1, 1, 0, 0, 0, 0, 'done')`,
  );
  mirror.raw.transaction(() => {
    for (let no = 0; no < 45_000; no += 1)
      insert.run(no < 41_000 ? '2036-01-01T00:00:00.000Z' : '2026-01-01T00:00:00.000Z');
  })();
  const looked = { upTo: 0 };
  const turn = () => purgeTicks(mirror, '2026-07-01T00:00:00.000Z' as Instant, looked);
  let gone = 0;
  for (let turns = 0; turns < 10; turns += 1) gone += turn();
  expect(gone).toBe(4_000);
  expect(mirror.raw.prepare('SELECT count(*) FROM tick_rows').pluck().get()).toBe(41_000);
});

test('pre-migration backups expire, unfinished ones too; other files stay', () => {
  const mirror = freshMirror();
  onTestFinished(() => mirror.close());
  const copy = (suffix: string, madeAt: string) => {
    writeFileSync(mirror.file + suffix, 'x');
    utimesSync(mirror.file + suffix, new Date(madeAt), new Date(madeAt));
    return mirror.file + suffix;
  };
  const old = copy('.schema-0001.bak', '2026-01-01T00:00:00Z');
  const unfinished = copy('.schema-0002.bak.4711.tmp', '2026-01-02T00:00:00Z');
  const young = copy('.schema-0003.bak', '2026-10-01T00:00:00Z');
  const other = copy('.other.bak', '2026-01-01T00:00:00Z');
  // Another process deletes a backup between the listing of the folder and the check of the file.
  symlinkSync('gone', `${mirror.file}.schema-0004.bak`);
  expect(removeBackups(mirror.file, Date.parse('2026-09-01T00:00:00Z'))).toEqual([old, unfinished]);
  expect(backupsOf(mirror.file).map(({ file }) => file)).toEqual([young]);
  expect([old, unfinished, young, other].map((file) => existsSync(file))).toEqual([false, false, true, true]);
});

test('a backup that cannot be deleted keeps neither erased bytes nor expired entries, and is deleted when it can be', async () => {
  const file = join(tempFolder(), 'mirror.db');
  const stuck = `${file}.schema-0001.bak`;
  // The system refuses to delete it like a file, to whoever runs the test.
  mkdirSync(stuck);
  const other = `${file}.schema-0002.bak`;
  for (const path of [other, join(stuck, 'x')]) writeFileSync(path, '');
  utimesSync(stuck, 0, 0);
  const clock = new VirtualClock(now);
  const expired: string[] = [];
  const warned: unknown[] = [];
  let receipts = 1;
  const purge = (what: string) => () => expired.push(what);
  const maintenance = maintenanceOf(
    { history: { keepDays: null }, console: null, database: { kind: 'sqlite', file } } as unknown as Config,
    {
      erasures: { pending: () => (receipts === 0 ? nothing : { ...nothing, receipts, since: since(20) }) },
      inbox: { purge: purge('inbox') },
      outbox: { purge: purge('outbox') },
      alerts: { purge: purge('alerts') },
      upkeep: {
        removeBackups: (before: number) => removeBackups(file, before),
        removeErasedBackups: () => removeBackups(file, Number.POSITIVE_INFINITY),
        purgeBudgets: purge('budgets'),
        purgeTicks: purge('ticks'),
        scrub: async () => {
          receipts = 0;
          return { kind: 'scrubbed', erasures: 1 };
        },
      },
    } as unknown as OpenMirror,
  );
  const logger: Logger = {
    ...silentLogger,
    warn: ({ error }, message) => warned.push([message, (error as Fault).message]),
  };
  const housekeeping = startHousekeeping({ ...usual, ...maintenance, logger, clock });
  onTestFinished(() => housekeeping.close());
  await clock.advance(minutes(3));
  expect([receipts, existsSync(stuck), existsSync(other)]).toEqual([0, true, false]);
  expect([...new Set(expired)]).toEqual(['inbox', 'outbox', 'alerts', 'budgets', 'ticks']);
  const why = `backups made before a schema migration cannot be deleted: ${stuck} (ERR_FS_EISDIR)`;
  expect(warned).toEqual([
    ['backups with erased identities remain; retrying', why],
    ['expired entries could not be deleted; retrying', why],
  ]);
  rmSync(stuck, { recursive: true });
  writeFileSync(stuck, '');
  await clock.advance(minutes(1));
  expect(existsSync(stuck)).toBe(false);
});

test('what is past its retention expires, each kind after its own number of days', async () => {
  const days: Record<string, number> = {};
  const purge = (what: string) => (before: Instant | number) => {
    days[what] = (now - new Date(before).getTime()) / 86_400_000;
    return 1;
  };
  const [inbox, outbox, alerts, audit] = ['inbox', 'outbox', 'alerts', 'audit'].map((what) => ({
    purge: purge(what),
  }));
  const upkeep = {
    purgeBudgets: purge('budgets'),
    purgeTicks: purge('ticks'),
    purgeHistory: purge('history'),
    removeBackups: (before: number) => Array.from({ length: purge('backups')(before) }),
  };
  const keeping = (keepDays: number | null, console: object | null) =>
    maintenanceOf(
      { history: { keepDays }, console, database: { kind: 'sqlite', file: '' } } as unknown as Config,
      { inbox, outbox, alerts, audit, upkeep } as unknown as OpenMirror,
    );
  const always = { inbox: 4, outbox: 30, alerts: 30, budgets: 2, ticks: 90, backups: 30 };
  expect(await keeping(null, null).purge(now)).toBe(6);
  expect(days).toEqual(always);
  expect(await keeping(400, { auditKeepDays: 365 }).purge(now)).toBe(8);
  expect(days).toEqual({ ...always, audit: 365, history: 400 });
});

test('backups with erased people are looked for at the start, after each erasure, and again after a failure', () => {
  let looks = 0;
  let isStuck = false;
  const removeErasedBackups = () => {
    looks += 1;
    if (isStuck) throw new Error('not permitted');
  };
  const { removeBackups: look } = maintenanceOf(
    { history: {}, console: null, database: { kind: 'sqlite', file: '' } } as unknown as Config,
    { upkeep: { removeErasedBackups } } as unknown as OpenMirror,
  );
  const erased = { ...nothing, since: since(1) };
  for (const pending of [nothing, nothing, erased, nothing]) look(pending);
  expect(looks).toBe(2);
  isStuck = true;
  for (const pending of [erased, nothing]) expect(() => look(pending)).toThrow('not permitted');
  isStuck = false;
  for (const pending of [nothing, nothing]) look(pending);
  expect(looks).toBe(5);
});

test('a process that starts deletes the backups with people whom an earlier one erased, and those alone', () => {
  const mirror = freshMirror();
  for (const [number, day] of [1, 2, 3].entries()) {
    const file = `${mirror.file}.schema-000${number}.bak`;
    writeFileSync(file, '');
    utimesSync(file, new Date(`2026-10-0${day}`), new Date(`2026-10-0${day}`));
  }
  const removing = () => {
    const upkeep = { removeErasedBackups: () => removeErasedBackups(mirror, now) };
    maintenanceOf(
      {
        history: { keepDays: null },
        console: null,
        database: { kind: 'sqlite', file: mirror.file },
      } as unknown as Config,
      { upkeep } as unknown as OpenMirror,
    ).removeBackups(nothing);
    return backupsOf(mirror.file).length;
  };
  const erased = (cause: string, scrubbed_at: string | null) =>
    seedRow(mirror, 'erasures', { cause, invisible_at: '2026-10-01T00:00:00.000Z', scrubbed_at });
  expect(removing()).toBe(3);
  erased('tombstone', '2026-10-01T12:00:00.000Z');
  erased('removed', '2026-10-02T12:00:00.000Z');
  erased('tombstone', '2027-01-01T00:00:00.000Z');
  expect(removing()).toBe(2);
  erased('tombstone', null);
  expect(removing()).toBe(0);
});
