import {
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type LakeDisk, systemLakeDisk } from '../../../src/exports/lake/disk.js';
import { isLeftLock, withLakeLock } from '../../../src/exports/lake/lock.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { processName } from '../../../src/runtime/process-identity.js';
import { seededRandom } from '../../../src/runtime/random.js';
import { mirrorFixture } from '../../store/mirror-fixture.js';
import { record } from '../../store/samples.js';
import { tempFolder } from '../../store/temp-folder.js';
import { sync } from './world.js';

const parts = { clock: systemClock, random: seededRandom(3) };
const busy = { code: 'database_busy' };

function lockedBy(holder: string): string {
  const folder = join(tempFolder(), 'lake');
  mkdirSync(folder);
  const path = join(folder, '_lock');
  writeFileSync(path, holder);
  // As after a suspend or a clock that jumped forward: it seems not to have been renewed for years.
  utimesSync(path, 0, 0);
  return folder;
}

test('lake lock: an old lock of a process that runs on this machine is not taken over', async () => {
  const holder = `${processName()}:another`;
  const folder = lockedBy(holder);
  await expect(withLakeLock(folder, parts, async () => {})).rejects.toMatchObject(busy);
  expect(readFileSync(join(folder, '_lock'), 'utf8')).toBe(holder);
});

/** Seconds since the lock was renewed; negative for one that was written under a clock that was ahead. */
test.each([
  ['just now', 0, false],
  ['14 minutes ago', 870, false],
  ['over 15 minutes ago', 930, true],
  ['14 minutes in the future', -870, false],
  ['a day in the future', -86_400, true],
])('lake lock: whether one of another host, last renewed %s, is taken over', async (_, age, isTaken) => {
  const folder = lockedBy('elsewhere:1:2.3.abc:another');
  const at = Date.now() / 1_000 - age;
  utimesSync(join(folder, '_lock'), at, at);
  const locking = withLakeLock(folder, parts, async () => 'ran');
  if (isTaken) expect(await locking).toBe('ran');
  else
    await expect(locking).rejects.toMatchObject({
      ...busy,
      message: expect.stringContaining('(elsewhere, process 1)'),
    });
  expect(readdirSync(folder)).toEqual(isTaken ? [] : ['_lock']);
});

test.skipIf(process.platform !== 'linux')(
  'lake lock: the lock of a process that ended is taken over',
  async () => {
    const [host, , rest] = processName().split(':');
    const folder = lockedBy(`${host}:4194999:${rest}:another`);
    utimesSync(join(folder, '_lock'), new Date(), new Date());
    expect(await withLakeLock(folder, parts, async () => 'ran')).toBe('ran');
  },
);

test('lake lock: one without its text, as after a power cut, is taken over', async () => {
  const folder = lockedBy('');
  utimesSync(join(folder, '_lock'), new Date(), new Date());
  expect(await withLakeLock(folder, parts, async () => 'ran')).toBe('ran');
});

test('lake lock: of two processes that take over an old one, one gets it, and the other finds it held', async () => {
  const folder = lockedBy('elsewhere:1:2.3.abc:another');
  const refused: unknown[] = [];
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  // The other one may be refused before this one's work begins.
  const lock = () =>
    withLakeLock(folder, parts, () => ended).catch((error: unknown) => {
      refused.push(error);
      end();
    });
  await Promise.all([lock(), lock()]);
  expect(refused).toMatchObject([busy]);
  expect(readdirSync(folder)).toEqual([]);
});

test('lake lock: only old files that are locks were left by processes that took over a lock', async () => {
  const folder = lockedBy('elsewhere:1:2.3.abc:another');
  for (const name of ['_lock.Ab12', '_lock.Cd34.old', '_current.json']) writeFileSync(join(folder, name), '');
  for (const name of ['_lock.Cd34.old', '_current.json']) utimesSync(join(folder, name), 0, 0);
  const left = await Promise.all(readdirSync(folder).map((name) => isLeftLock(folder, name)));
  expect(readdirSync(folder).filter((_, at) => left[at])).toEqual(['_lock.Cd34.old']);
});

test('lake lock: it is renewed with the time of the system, and only while it is held', async () => {
  const folder = join(tempFolder(), 'lake');
  mkdirSync(folder);
  const path = join(folder, '_lock');
  const due = new EventTarget();
  let waits = 0;
  // A clock that stood still at the epoch, as during a suspend.
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    wait: (_: number, signal?: Pick<AbortSignal, 'aborted' | 'addEventListener'>) =>
      new Promise<void>((resolve) => {
        waits += 1;
        if (signal?.aborted === true) resolve();
        signal?.addEventListener('abort', () => resolve(), { once: true });
        due.addEventListener('renew', () => resolve(), { once: true });
      }),
  };
  await withLakeLock(folder, { ...parts, clock }, async () => {
    const renewed = async () => {
      utimesSync(path, 5, 5);
      const before = waits;
      due.dispatchEvent(new Event('renew'));
      await expect.poll(() => waits, { interval: 1 }).toBe(before + 1);
      return statSync(path).mtimeMs;
    };
    expect(Math.abs((await renewed()) - Date.now())).toBeLessThan(60_000);
    writeFileSync(path, 'elsewhere:1:2.3.abc:another');
    expect(await renewed()).toBe(5_000);
  });
  expect(readFileSync(path, 'utf8')).toContain('elsewhere');
});

test.skipIf(process.geteuid?.() !== 0)(
  'lake lock: that of root belongs to the user of the lake, who would otherwise take it for an old one',
  async () => {
    const folder = join(tempFolder(), 'lake');
    mkdirSync(folder);
    chownSync(folder, 65_534, 65_534);
    const { uid, mode } = await withLakeLock(folder, parts, async () => statSync(join(folder, '_lock')));
    expect([uid, mode & 0o777]).toEqual([65_534, 0o600]);
  },
);

test('lake lock: a sync that lost its lock publishes nothing', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1')]]);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder);
  const pointer = () => readFileSync(join(folder, '_current.json'), 'utf8');
  const before = pointer();
  await fixture.delta([record('inv_2')]);
  const taken = 'elsewhere:1:2.3.abc:another';
  const disk: LakeDisk = {
    ...systemLakeDisk,
    protect: async (path) => {
      writeFileSync(join(folder, '_lock'), taken);
      await systemLakeDisk.protect(path);
    },
  };
  await expect(sync(fixture, folder, { disk })).rejects.toMatchObject(busy);
  expect(pointer()).toBe(before);
  expect(readFileSync(join(folder, '_lock'), 'utf8')).toBe(taken);
});
