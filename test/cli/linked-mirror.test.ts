import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { filledMirror } from './filled-mirror.js';

test('a mirror behind a symbolic link: forget scrubs its file, and restore replaces that file and not the link', async () => {
  const world = await filledMirror();
  onTestFinished(() => world.close());
  const at = (name: string) => join(world.folder, name);
  mkdirSync(at('disk'));
  renameSync(at('mirror.db'), at('disk/roster.db'));
  symlinkSync('disk/roster.db', at('mirror.db'));
  await world.sync();
  expect((await world.run(['backup', 'copy.db'])).code).toBe(0);
  const raw = new Sqlite(at('mirror.db'), { readonly: true });
  const [id = '', email = ''] =
    raw
      .prepare<[], [string, string]>(
        'SELECT investor_id, email FROM roster WHERE email IS NOT NULL AND investor_id IS NOT NULL',
      )
      .raw()
      .get() ?? [];
  raw.close();
  const bytes = () =>
    readdirSync(at('disk'))
      .map((name) => readFileSync(join(at('disk'), name), 'latin1'))
      .join('');
  expect(bytes()).toContain(email);
  const forgotten = await world.run(['forget', id, '--json']);
  expect([forgotten.code, forgotten.err]).toEqual([0, '']);
  expect(JSON.parse(forgotten.out)).toMatchObject({ bytes: 'scrubbed', pending: 0 });
  expect(bytes()).not.toContain(email);

  const before = statSync(at('mirror.db')).ino;
  expect((await world.run(['restore', '--force', 'copy.db'])).code).toBe(0);
  expect(lstatSync(at('mirror.db')).isSymbolicLink()).toBe(true);
  expect(statSync(at('disk/roster.db')).ino).not.toBe(before);
  const [checked] = JSON.parse((await world.run(['sync', '--json'])).out);
  expect([checked.outcome, bytes().includes(email)]).toEqual(['done', false]);
});
