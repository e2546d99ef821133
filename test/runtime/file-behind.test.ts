import { chmodSync, lchownSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileBehind, writtenFile } from '../../src/runtime/file-behind.js';
import { tempFolder } from '../store/temp-folder.js';

test('the file behind a path: links of any kind are followed, also to a file that does not exist yet', () => {
  const folder = realpathSync(tempFolder());
  const at = (name: string) => join(folder, name);
  mkdirSync(at('disk/below'), { recursive: true });
  writeFileSync(at('disk/mirror.db'), '');
  symlinkSync(at('disk/mirror.db'), at('absolute.db'));
  symlinkSync('disk/mirror.db', at('relative.db'));
  symlinkSync('relative.db', at('twice.db'));
  symlinkSync('disk/new.db', at('new.db'));
  symlinkSync(at('disk/below'), at('folder'));
  symlinkSync('../mirror.db', at('disk/below/up.db'));
  symlinkSync('round.db', at('round.db'));
  for (const name of ['absolute.db', 'relative.db', 'twice.db', 'folder/up.db'])
    expect([name, fileBehind(at(name))]).toEqual([name, at('disk/mirror.db')]);
  expect(fileBehind(at('new.db'))).toBe(at('disk/new.db'));
  for (const name of ['disk/mirror.db', 'nothing.db', 'no/folder.db', 'round.db'])
    expect(fileBehind(at(name))).toBe(at(name));
});

test.skipIf(process.geteuid?.() !== 0)(
  'the file that a person names for writing: no link of another user in a folder of everybody',
  () => {
    const folder = realpathSync(tempFolder());
    const [shared, own] = [join(folder, 'shared'), join(folder, 'own')];
    for (const one of [shared, own]) {
      mkdirSync(one);
      for (const name of ['mine', 'theirs']) symlinkSync('../file', join(one, name));
      lchownSync(join(one, 'theirs'), 65_534, 65_534);
    }
    chmodSync(shared, 0o1777);
    for (const link of [join(shared, 'mine'), join(own, 'mine'), join(own, 'theirs')])
      expect(writtenFile(link)).toBe(join(folder, 'file'));
    expect(() => writtenFile(join(shared, 'theirs'))).toThrow(/is a link of another user in a folder/);
    expect(fileBehind(join(shared, 'theirs'))).toBe(join(folder, 'file'));
  },
);
