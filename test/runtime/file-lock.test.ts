import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { withFileLock } from '../../src/runtime/file-lock.js';
import { unwritable } from '../../src/runtime/unwritable.js';
import { FakeClock } from '../client/fake-clock.js';

const signal = new AbortController().signal;
let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rosterd-lock-'));
  path = join(folder, 'file.lock');
});
afterEach(() => rm(folder, { recursive: true }));

function left(by: {
  nonce?: string;
  pid?: number;
  host?: string;
  processStart?: number;
  at?: number;
}): Promise<void> {
  const holder = { nonce: 'other', pid: 1, host: hostname(), processStart: 0, at: Date.now(), ...by };
  return writeFile(path, JSON.stringify(holder));
}

/** Polls without delay: more races in less time. */
const impatient: Clock = { ...systemClock, wait: async () => void (await new Promise(setImmediate)) };

const take = (clock = systemClock) => withFileLock({ path, clock, signal }, async (isMine) => isMine());

test.skipIf(process.geteuid?.() !== 0)(
  'file lock: that of root belongs to the user of its folder, who has to see when its holder has ended',
  async () => {
    await chown(folder, 65_534, 65_534);
    const { uid, mode } = await withFileLock({ path, clock: systemClock, signal }, () => stat(path));
    expect([uid, mode & 0o777]).toEqual([65_534, 0o600]);
  },
);

test('file lock: holders take turns and leave no file behind', async () => {
  let holders = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 8 }, () =>
      withFileLock({ path, clock: systemClock, signal }, async () => {
        holders += 1;
        most = Math.max(most, holders);
        await new Promise((resolve) => setImmediate(resolve));
        holders -= 1;
      }),
    ),
  );
  expect(most).toBe(1);
  expect(await readdir(folder)).toEqual([]);
});

test('file lock: the lock of a dead process is taken over at once', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  await left({ pid: child.pid ?? 0 });
  expect(await take()).toBe(true);
});

test('file lock: the lock of an earlier process with the same pid is taken over at once', async () => {
  await left({ pid: process.pid, processStart: performance.timeOrigin - 1 });
  expect(await take()).toBe(true);
});

test('file lock: processes that find a stale lock together still hold it one after the other, every round', async () => {
  let holders = 0;
  let most = 0;
  const taken: boolean[] = [];
  for (let round = 0; round < 40; round += 1) {
    await left({ pid: process.pid, processStart: 1 });
    await Promise.all(
      Array.from({ length: 6 }, () =>
        withFileLock({ path, clock: impatient, signal }, async (isMine) => {
          holders += 1;
          most = Math.max(most, holders);
          taken.push(await isMine());
          holders -= 1;
        }),
      ),
    );
  }
  expect(most).toBe(1);
  expect(taken).toEqual(Array(240).fill(true));
  expect(await readdir(folder)).toEqual([]);
});

test('file lock: the lock of a process that died while deleting a stale lock is removed first', async () => {
  await left({ nonce: 'first', pid: process.pid, processStart: 1 });
  const first = path;
  path = `${first}.after.first`;
  await left({ nonce: 'second', pid: process.pid, processStart: 1 });
  path = first;
  expect(await take()).toBe(true);
  expect(await readdir(folder)).toEqual([]);
});

test('file lock: what a process that was killed while it waited left is deleted, and no other file', async () => {
  const lock = path;
  const waited = async (nonce: string, pid: number) => {
    path = `${lock}.${nonce}`;
    await left({ nonce, pid, processStart: 1 });
  };
  const [killed, waiting, writing] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`) as [
    string,
    string,
    string,
  ];
  await waited(killed, process.pid);
  await waited(waiting, process.ppid);
  path = lock;
  await writeFile(`${lock}.${writing}`, '');
  await writeFile(`${lock}.notes`, '');
  expect([await take(), await readdir(folder)]).toEqual([
    true,
    expect.not.arrayContaining([`file.lock.${killed}`]),
  ]);
  expect(await readdir(folder)).toHaveLength(3);
});

test('file lock: an unreadable lock file belongs to nobody', async () => {
  await writeFile(path, 'rubbish');
  expect(await take()).toBe(true);
});

test('file lock: the lock of another host is respected for five minutes', async () => {
  const clock = new FakeClock();
  await left({ host: 'elsewhere', at: clock.now() });
  await expect(take(clock)).rejects.toMatchObject({ code: 'unreachable' });
  expect(await readFile(path, 'utf8')).toContain('elsewhere');
  clock.advance(5 * 60_000);
  expect(await take(clock)).toBe(true);
});

test('file lock: a living holder is waited for, and named when it takes too long', async () => {
  const clock = new FakeClock();
  await left({ pid: process.ppid, at: clock.now() });
  await expect(take(clock)).rejects.toMatchObject({
    code: 'unreachable',
    about: { hint: expect.stringContaining(path) },
  });
});

test('file lock: a holder considered dead notices that it lost the lock', async () => {
  const noticed = await withFileLock({ path, clock: systemClock, signal }, async (isMine) => {
    await left({});
    return isMine();
  });
  expect(noticed).toBe(false);
  expect(await readFile(path, 'utf8')).toContain('other');
});

test('file lock: a stop ends the wait', async () => {
  const stopping = new AbortController();
  await left({ pid: process.ppid });
  const waiting = withFileLock({ path, clock: systemClock, signal: stopping.signal }, async () => {});
  stopping.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'stopped' });
});

test('file lock: an unwritable lock needs an operator, a full disk is retried; neither is an internal error', async () => {
  const path = join(folder, 'not there', 'lock');
  const taken = withFileLock(
    { path, clock: systemClock, signal: new AbortController().signal },
    async () => 'done',
  );
  await expect(taken).rejects.toMatchObject({
    code: 'usage',
    message: `the lock ${path} cannot be written (ENOENT)`,
  });
  expect(unwritable('it', Object.assign(new Error(), { code: 'ENOSPC' })).code).toBe('database_full');
});
