import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { editConfigFile } from '../../src/config/edit-file.js';
import { folder } from './load-config.js';

test('editing the configuration changes only the given values', async () => {
  const home = folder();
  const file = join(home, 'config.json');
  writeFileSync(
    file,
    '{\n    "log": { "level": "warn" },\n    "sources": [{ "name": "acme", "filters": {} }]\n}\n',
    {
      mode: 0o640,
    },
  );
  // The umask does not limit it, as it does that of a new file.
  chmodSync(file, 0o662);
  await editConfigFile(file, [
    { path: ['sources', 0, 'company'], value: 'co_1' },
    { path: ['sources', 1, 'name'], value: 'other' },
    { path: ['platform', 'application', 'clientId'], value: 'pk_test_1' },
  ]);
  const text = readFileSync(file, 'utf8');
  expect(JSON.parse(text)).toEqual({
    log: { level: 'warn' },
    sources: [{ name: 'acme', filters: {}, company: 'co_1' }, { name: 'other' }],
    platform: { application: { clientId: 'pk_test_1' } },
  });
  expect(text).toMatch(/^ {4}"log"/m);
  expect(statSync(file).mode & 0o777).toBe(0o662);
  expect(readdirSync(home)).toEqual(['config.json']);
});

test('editing leaves a file that is not JSON unchanged', async () => {
  const file = join(folder(), 'config.json');
  writeFileSync(file, '{ "log": ');
  await expect(editConfigFile(file, [{ path: ['a'], value: 1 }])).rejects.toThrow();
  expect(readFileSync(file, 'utf8')).toBe('{ "log": ');
});

test('editing a file in a missing folder is reported', async () => {
  const file = join(folder(), 'nowhere', 'config.json');
  await expect(editConfigFile(file, [])).rejects.toMatchObject({ code: 'usage' });
});

test('editing through a symbolic link changes the file behind it, and keeps the link', async () => {
  const home = folder();
  mkdirSync(join(home, 'versioned'));
  writeFileSync(join(home, 'versioned', 'rosterd.json'), '{}');
  symlinkSync(join('versioned', 'rosterd.json'), join(home, 'config.json'));
  await editConfigFile(join(home, 'config.json'), [{ path: ['identity'], value: 'drop' }]);
  expect(lstatSync(join(home, 'config.json')).isSymbolicLink()).toBe(true);
  expect(JSON.parse(readFileSync(join(home, 'versioned', 'rosterd.json'), 'utf8'))).toEqual({
    identity: 'drop',
  });
  expect(readdirSync(join(home, 'versioned'))).toEqual(['rosterd.json']);
});

test('editing as root keeps owner and group, so that the daemon can still read the file', async () => {
  const file = join(folder(), 'config.json');
  writeFileSync(file, '{}', { mode: 0o640 });
  const [uid, gid] = process.getuid?.() === 0 ? [65_534, 65_533] : [statSync(file).uid, statSync(file).gid];
  chownSync(file, uid, gid);
  await editConfigFile(file, [{ path: ['identity'], value: 'drop' }]);
  expect(statSync(file)).toMatchObject({ uid, gid });
  expect(statSync(file).mode & 0o777).toBe(0o640);
});
