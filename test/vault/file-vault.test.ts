import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { systemDisk } from '../../src/runtime/replace-file.js';
import { removeFromVault } from '../../src/tasks/vault.js';
import { openFileVault } from '../../src/vault/file-vault.js';
import { compiledScript } from '../support/compiled-script.js';

const { signal } = new AbortController();
const script = join(packageRoot, 'test/vault/dying-writer.ts');
let root: string;
let folder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rosterd-vault-'));
  folder = join(root, 'data', 'credentials');
});
afterEach(() => rm(root, { recursive: true }));

const open = () => openFileVault({ folder, clock: systemClock });

test('file vault: an entry is a file of mode 0600 in a folder of mode 0700', async () => {
  await open().write('sign-in/crm', 'canary-secret');
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect(await readdir(folder)).toEqual(['sign-in.crm.secret']);
  expect((await stat(join(folder, 'sign-in.crm.secret'))).mode & 0o777).toBe(0o600);
  expect(await open().read('sign-in/crm')).toBe('canary-secret');
  expect(await open().read('sign-in/other')).toBeNull();
});

test('file vault: lists keys by prefix and removes entries with what an interrupted write left', async () => {
  const vault = open();
  expect(await vault.keys('')).toEqual([]);
  await vault.remove('installation/inst_1');
  for (const key of ['installation/inst_B', 'installation/inst_b', 'sign-in/my.crm', 'endpoint/main'])
    await vault.write(key, `secret of ${key}`);
  await writeFile(join(folder, 'sign-in.my==crm.secret.new'), 'half');
  for (const file of ['notes.txt', 'sign-in.a=1.secret', 'sign-in.==a.secret', 'sign--in.a.secret'])
    await writeFile(join(folder, file), 'of a person');
  expect(await vault.keys('')).toEqual([
    'endpoint/main',
    'installation/inst_B',
    'installation/inst_b',
    'sign-in/my.crm',
  ]);
  expect(await vault.keys('installation/')).toEqual(['installation/inst_B', 'installation/inst_b']);
  await vault.remove('sign-in/my.crm');
  expect(await vault.read('sign-in/my.crm')).toBeNull();
  expect((await readdir(folder)).filter((file) => file.startsWith('sign-in.my'))).toEqual([]);
});

test('vault remove: an entry that a refresh is replacing is deleted after the refresh has stored it', async () => {
  const vault = open();
  await vault.write('sign-in/crm', 'before');
  const waits = new AbortController();
  const clock: Clock = {
    ...systemClock,
    wait: (millis, ends) => {
      waits.abort();
      return systemClock.wait(millis, ends);
    },
  };
  const settings = { database: { kind: 'sqlite' as const, file: 'unused' }, vault: { folder, keys: [] } };
  let removal: Promise<void> | undefined;
  await vault.withLock('sign-in/crm', signal, async () => {
    removal = removeFromVault(settings, clock, 'sign-in/crm', signal);
    await Promise.race([removal, once(waits.signal, 'abort')]);
    await vault.write('sign-in/crm', 'after');
  });
  await removal;
  expect(await vault.read('sign-in/crm')).toBeNull();
});

test('file vault: no two keys share a file on a disk that ignores case', async () => {
  const vault = open();
  for (const name of ['aB', 'ab', 'Ab', 'a.b', '_b', '-b', 'a-b']) await vault.write(`sign-in/${name}`, name);
  const files = await readdir(folder);
  expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(7);
  expect(await Promise.all(['aB', 'ab', 'Ab', 'a.b'].map((name) => vault.read(`sign-in/${name}`)))).toEqual([
    'aB',
    'ab',
    'Ab',
    'a.b',
  ]);
});

test.each([
  ['../../etc/passwd'],
  ['sign-in/../x'],
  ['sign-in/.hidden'],
  ['sign-in/a/b'],
  ['sign-in/'],
  ['crm'],
  ['sign-in/a\u0000b'],
  ['sign-in/a\nb'],
  [`sign-in/${'x'.repeat(91)}`],
  ['sign-in/é'],
])('file vault: refuses the key %j', async (key) => {
  await expect(open().write(key, 's')).rejects.toMatchObject({ code: 'usage' });
  await expect(open().read(key)).rejects.toMatchObject({ code: 'usage' });
  await expect(readdir(root)).resolves.toEqual([]);
});

test('file vault: the longest key has a file and a lock', async () => {
  const key = `installation/${'X'.repeat(90)}`;
  const vault = open();
  await vault.withLock(key, signal, () => vault.write(key, 's'));
  expect(await vault.keys('installation/')).toEqual([key]);
});

test('file vault: an entry that others can read, or that is empty, is an error without its secret', async () => {
  const vault = open();
  await vault.write('sign-in/crm', 'canary-secret');
  const path = join(folder, 'sign-in.crm.secret');
  await chmod(path, 0o644);
  await expect(vault.read('sign-in/crm')).rejects.toMatchObject({
    code: 'usage',
    message: 'the vault entry "sign-in/crm" is open to others (mode 644)',
    about: { hint: `chmod 600 ${path}` },
  });
  await writeFile(path, '');
  await chmod(path, 0o600);
  await expect(vault.read('sign-in/crm')).rejects.toThrow('the vault entry "sign-in/crm" is empty');
});

test('file vault: a folder in place of an entry, and a file in place of the folder, are reported as such', async () => {
  await mkdir(join(folder, 'sign-in.crm.secret'), { recursive: true, mode: 0o700 });
  await expect(open().read('sign-in/crm')).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/^the vault entry "sign-in\/crm" in .* cannot be read \(EISDIR\)$/),
  });
  await rm(folder, { recursive: true });
  await writeFile(folder, '');
  await expect(open().keys('')).rejects.toMatchObject({
    about: { hint: 'a part of its path is not a folder' },
  });
});

test('file vault: a full disk leaves the old secret and asks for room', async () => {
  const full = { ...systemDisk, sync: () => Promise.reject(Object.assign(new Error(), { code: 'ENOSPC' })) };
  await open().write('sign-in/crm', 'old');
  await expect(
    openFileVault({ folder, clock: systemClock, disk: full }).write('sign-in/crm', 'canary-new'),
  ).rejects.toMatchObject({ code: 'database_full', about: { hint: 'make room on its disk' } });
  expect(await open().read('sign-in/crm')).toBe('old');
});

test('file vault: an empty secret is not stored, and an entry that cannot be opened is not taken for a missing one', async () => {
  await open().write('sign-in/crm', 'secret');
  await expect(open().write('sign-in/crm', '')).rejects.toThrow('a vault entry cannot be empty');
  expect(await open().read('sign-in/crm')).toBe('secret');
  await rm(join(folder, 'sign-in.crm.secret'));
  await symlink('sign-in.crm.secret', join(folder, 'sign-in.crm.secret'));
  await expect(open().read('sign-in/crm')).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/cannot be read \(ELOOP\)$/),
  });
});

test('file vault: a removal that may not survive a power cut is an error, unless there is no folder', async () => {
  const disk = { ...systemDisk };
  const vault = openFileVault({ folder, clock: systemClock, disk });
  await vault.remove('sign-in/crm');
  await vault.write('sign-in/crm', 'secret');
  disk.syncFolder = () => Promise.reject(Object.assign(new Error(), { code: 'EIO' }));
  await expect(vault.remove('sign-in/crm')).rejects.toMatchObject({ code: 'database_busy' });
});

test('file vault: a full disk is reported before a write, and the try leaves nothing', async () => {
  let isFull = true;
  const disk = {
    ...systemDisk,
    sync: (path: string) =>
      isFull ? Promise.reject(Object.assign(new Error(), { code: 'ENOSPC', path })) : systemDisk.sync(path),
  };
  const vault = openFileVault({ folder, clock: systemClock, disk });
  await expect(vault.requireWritable()).rejects.toMatchObject({
    code: 'database_full',
    message: `the folder ${folder} cannot be written (ENOSPC)`,
  });
  isFull = false;
  await vault.requireWritable();
  await Promise.all([vault.requireWritable(), vault.requireWritable()]);
  expect(await readdir(folder)).toEqual([]);
});

test('file vault: a file in the place of its folder is reported before a write', async () => {
  const file = join(root, 'file');
  await writeFile(file, '');
  await expect(openFileVault({ folder: file, clock: systemClock }).requireWritable()).rejects.toMatchObject({
    code: 'usage',
    message: `the folder ${file} cannot be written (EEXIST)`,
  });
});

test('file vault: a folder that cannot be made is reported before a write', async () => {
  await writeFile(join(root, 'data'), '');
  const needing = [open().requireWritable(), open().withLock('sign-in/crm', signal, async () => {})];
  for (const work of await Promise.allSettled(needing))
    expect(work).toMatchObject({
      reason: { code: 'usage', message: `the folder ${folder} cannot be written (ENOTDIR)` },
    });
});

test('file vault: writes of one process to one entry take turns', async () => {
  const vault = open();
  const writes = Array.from({ length: 20 }, (_, at) => vault.write('sign-in/crm', `secret ${at}`));
  await writes[0];
  await Promise.all([...writes, vault.write('sign-in/crm', 'secret 20')]);
  expect(await vault.read('sign-in/crm')).toBe('secret 20');
  expect(await readdir(folder)).toEqual(['sign-in.crm.secret']);
});

test('file vault: one holder at a time has the lock of a key', async () => {
  const first = open();
  const second = open();
  let holders = 0;
  let most = 0;
  const work = async (isMine: () => Promise<boolean>) => {
    most = Math.max(most, ++holders);
    expect(await isMine()).toBe(true);
    holders -= 1;
  };
  await Promise.all([first, second, first].map((vault) => vault.withLock('sign-in/crm', signal, work)));
  expect(most).toBe(1);
});

test.each([
  ['write', 'before', 'old'],
  ['write', 'after', 'old'],
  ['sync', 'after', 'old'],
  ['rename', 'before', 'old'],
  ['rename', 'after', 'new'],
])(
  'file vault: a process killed at "%s" (%s) leaves the %s secret, and the next one takes over its lock',
  async (step, when, expected) => {
    const vault = open();
    await vault.write('sign-in/crm', 'old');
    const child = spawn(process.execPath, [await compiledScript(script), folder, 'new', step, when], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [, killed] = await once(child, 'exit');
    expect(killed).toBe('SIGKILL');
    expect(await vault.read('sign-in/crm')).toBe(expected);
    expect(await vault.keys('')).toEqual(['sign-in/crm']);
    await vault.withLock('sign-in/crm', signal, () => vault.write('sign-in/crm', 'next'));
    expect(await readFile(join(folder, 'sign-in.crm.secret'), 'utf8')).toBe('next');
    expect(await readdir(folder)).toEqual(['sign-in.crm.secret']);
  },
);
