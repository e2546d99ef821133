import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeFolders, makeOwnedFolder, openOwned } from '../../src/runtime/file-owner.js';
import { replaceFile } from '../../src/runtime/replace-file.js';
import { tempFolder } from '../store/temp-folder.js';

const [daemon, stranger] = [65_534, 65_533];

/** Replaces a file and returns its new mode, user and group. */
async function replaced(file: string) {
  await replaceFile(file, 'new');
  const { mode, uid, gid } = statSync(file);
  return [mode & 0o777, uid, gid];
}

function folderOf(uid: number, mode: number): string {
  const folder = join(tempFolder(), 'credentials');
  mkdirSync(folder);
  chownSync(folder, uid, uid);
  chmodSync(folder, mode);
  return folder;
}

function fileOf(uid: number, folder: string): string {
  const file = join(folder, 'crm.json');
  writeFileSync(file, 'old', { mode: 0o600 });
  chownSync(file, uid, uid);
  return file;
}

describe.skipIf(process.geteuid?.() !== 0)('files that root replaces', () => {
  test.each([
    ['its user', daemon, 0o700],
    ['root', 0, 0o755],
  ])('a secret stays that of its user, in a folder of %s', async (_, owner, mode) => {
    const file = fileOf(daemon, folderOf(owner, mode));
    expect(await replaced(file)).toEqual([0o600, daemon, daemon]);
    expect(existsSync(`${file}.new`)).toBe(false);
  });

  test('a new secret belongs to the user of its folder', async () => {
    expect(await replaced(join(folderOf(daemon, 0o700), 'crm.json'))).toEqual([0o600, daemon, daemon]);
    expect(await replaced(join(folderOf(0, 0o755), 'crm.json'))).toEqual([0o600, 0, 0]);
  });

  test.each([
    ['of root and a group keeps its group and mode', 0, 0o640, [0o640, 0, daemon]],
    ['of root that only root reads keeps its mode', 0, 0o600, [0o600, 0, daemon]],
    ['of root that all could read is readable by root alone', 0, 0o644, [0o600, 0, daemon]],
    ['of a user that a group may read keeps its group and mode', stranger, 0o640, [0o640, stranger, daemon]],
  ])('a replaced secret %s', async (_, uid, mode, expected) => {
    const file = join(folderOf(0, 0o755), 'token');
    writeFileSync(file, 'old');
    chownSync(file, uid, daemon);
    chmodSync(file, mode);
    expect(await replaced(file)).toEqual(expected);
  });

  test("a secret of root in a folder that others may write to is root's alone afterwards", async () => {
    const file = join(folderOf(0, 0o775), 'token');
    writeFileSync(file, 'old');
    chownSync(file, 0, daemon);
    chmodSync(file, 0o640);
    expect(await replaced(file)).toEqual([0o600, 0, 0]);
  });

  test('a secret is given to nobody who could have put the file there', async () => {
    expect(await replaced(fileOf(stranger, folderOf(0, 0o777)))).toEqual([0o600, 0, 0]);
    expect(await replaced(fileOf(stranger, folderOf(0, 0o775)))).toEqual([0o600, 0, 0]);
    expect(await replaced(fileOf(stranger, folderOf(daemon, 0o700)))).toEqual([0o600, 0, 0]);
    const folder = folderOf(0, 0o755);
    const theirs = fileOf(stranger, folderOf(stranger, 0o755));
    symlinkSync(theirs, join(folder, 'crm.json'));
    expect(await replaced(join(folder, 'crm.json'))).toEqual([0o600, 0, 0]);
    expect(statSync(theirs).uid).toBe(stranger);
  });
});

const facts = (path: string) => {
  const { mode, uid, gid } = statSync(path);
  return [mode & 0o777, uid, gid];
};

function opened(file: string) {
  const descriptor = openOwned(file);
  writeSync(descriptor, 'new');
  closeSync(descriptor);
  return facts(file);
}

test('a file that is opened to append keeps what it has, and a new one is private', () => {
  const file = join(tempFolder(), 'list');
  expect(opened(file)[0]).toBe(0o600);
  opened(file);
  expect(readFileSync(file, 'utf8')).toBe('newnew');
});

test('folders are made with those above them, and the first new one is returned', () => {
  const home = tempFolder();
  expect(makeFolders(join(home, 'a/b/c'), 0o750)).toBe(join(home, 'a'));
  expect(['a', 'a/b', 'a/b/c'].map((name) => statSync(join(home, name)).mode & 0o777)).toEqual(
    Array(3).fill(0o750),
  );
  expect(makeFolders(join(home, 'a/b/c'))).toBeUndefined();
  expect(makeFolders(join(home, 'a/b/d'))).toBe(join(home, 'a/b/d'));
});

test('folders below a file, or in the place of one, or behind a broken link are refused', () => {
  const home = tempFolder();
  writeFileSync(join(home, 'file'), '');
  symlinkSync(join(home, 'nowhere'), join(home, 'link'));
  const refusals = { file: 'EEXIST', 'file/x/y': 'ENOTDIR', link: 'EEXIST', 'link/x': 'EEXIST' };
  for (const [name, code] of Object.entries(refusals))
    expect(() => makeFolders(join(home, name)), name).toThrow(code);
});

test.skipIf(process.platform !== 'linux')('folders below /proc are refused, and not tried for ever', () => {
  for (const path of ['/proc/rosterd', '/proc/rosterd/data', '/proc/self/rosterd'])
    expect(() => makeFolders(path), path).toThrow('ENOENT');
});

describe.skipIf(process.geteuid?.() !== 0)('files and folders that root makes', () => {
  test('a new file belongs to the user of its folder', () => {
    expect(opened(join(folderOf(daemon, 0o700), 'list'))).toEqual([0o600, daemon, daemon]);
    expect(opened(join(folderOf(0, 0o755), 'list'))).toEqual([0o600, 0, 0]);
    expect(opened(join(folderOf(daemon, 0o777), 'list'))).toEqual([0o600, 0, 0]);
  });

  test('files that root makes belong to the user of a folder that its group may write to, as with a umask of 0002', async () => {
    const folder = folderOf(daemon, 0o775);
    expect(opened(join(folder, 'list'))).toEqual([0o600, daemon, daemon]);
    makeOwnedFolder(join(folder, 'new'));
    expect(facts(join(folder, 'new'))).toEqual([0o700, daemon, daemon]);
    expect(await replaced(fileOf(daemon, folder))).toEqual([0o600, daemon, daemon]);
    expect(await replaced(fileOf(stranger, folder))).toEqual([0o600, 0, 0]);
  });

  test('an existing file keeps its owner', () => {
    const file = join(folderOf(daemon, 0o700), 'list');
    writeFileSync(file, 'old', { mode: 0o600 });
    expect(opened(file)).toEqual([0o600, 0, 0]);
    expect(readFileSync(file, 'utf8')).toBe('oldnew');
  });

  test('what a link leads to is given to nobody', () => {
    const [theirs, ours] = [folderOf(daemon, 0o700), folderOf(0, 0o755)];
    symlinkSync(join(ours, 'new'), join(theirs, 'list'));
    expect(opened(join(theirs, 'list'))).toEqual([0o600, 0, 0]);
  });

  test('new folders belong to the user of the folder above them', () => {
    const folder = join(folderOf(daemon, 0o700), 'credentials', 'vault');
    makeOwnedFolder(folder);
    expect([facts(folder), facts(dirname(folder))]).toEqual(Array(2).fill([0o700, daemon, daemon]));
    chownSync(folder, 0, 0);
    makeOwnedFolder(folder);
    expect(facts(folder)).toEqual([0o700, 0, 0]);
    const ours = join(folderOf(0, 0o755), 'new');
    makeOwnedFolder(ours);
    expect(facts(ours)).toEqual([0o700, 0, 0]);
  });
});
