import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileBehind } from '../../src/config/database.js';
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
