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
import { type Edits, editConfigFile } from '../../src/config/edit-file.js';
import { systemClock } from '../../src/runtime/clock.js';
import { folder } from './load-config.js';

const edit = (file: string, edits: Edits) => editConfigFile(file, edits, systemClock);

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
  await edit(file, [
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
  await expect(edit(file, [{ path: ['a'], value: 1 }])).rejects.toThrow();
  expect(readFileSync(file, 'utf8')).toBe('{ "log": ');
});

test('editing a file in a missing folder is reported', async () => {
  const file = join(folder(), 'nowhere', 'config.json');
  await expect(edit(file, [])).rejects.toMatchObject({ code: 'usage' });
});

test('editing through a symbolic link changes the file behind it, and keeps the link', async () => {
  const home = folder();
  mkdirSync(join(home, 'versioned'));
  writeFileSync(join(home, 'versioned', 'rosterd.json'), '{}');
  symlinkSync(join('versioned', 'rosterd.json'), join(home, 'config.json'));
  await edit(join(home, 'config.json'), [{ path: ['identity'], value: 'drop' }]);
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
  await edit(file, [{ path: ['identity'], value: 'drop' }]);
  expect(statSync(file)).toMatchObject({ uid, gid });
  expect(statSync(file).mode & 0o777).toBe(0o640);
});

test('editing at the same time as others, also through a link, loses no entry', async () => {
  const home = folder();
  const [file, linked] = [join(home, 'rosterd.json'), join(home, 'config.json')];
  writeFileSync(file, '{ "sources": [] }');
  symlinkSync('rosterd.json', linked);
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const added = (name: string) => (content: unknown) => {
    const { sources } = content as { sources: object[] };
    return [{ path: ['sources', sources.length, 'name'], value: name }];
  };
  await Promise.all(names.map((name, index) => edit(index % 2 === 0 ? file : linked, added(name))));
  const { sources } = JSON.parse(readFileSync(file, 'utf8')) as { sources: { name: string }[] };
  expect(sources.map(({ name }) => name).sort()).toEqual(names);
  expect(readdirSync(home).sort()).toEqual(['config.json', 'rosterd.json']);
});
