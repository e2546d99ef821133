import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, minimal } from '../../config/load-config.js';
import { fakeIo, rosterd } from '../fake-io.js';

test('an export of a mirror that was never synced warns that it has no rows', async () => {
  const cwd = folder();
  writeFileSync(join(cwd, 'config.json'), JSON.stringify(minimal));
  const run = (...words: string[]) => rosterd(words, fakeIo({ cwd }));
  expect((await run('pause')).code).toBe(0);
  const { code, out, err } = await run('export');
  expect({ code, lines: out.split('\n').length, err }).toEqual({
    code: 0,
    lines: 2,
    err: 'warning: the mirror has no source yet, so it has no rows\n',
  });
});
