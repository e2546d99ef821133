import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scrubApart } from '../../src/store/scrub.js';
import { tempFolder } from './temp-folder.js';

test('scrub: a database file that was moved away is reported and not created again', async () => {
  const file = join(tempFolder(), 'mirror.db');
  const request = { file, now: 0, rewritten: 0, way: 'in place' as const };
  await expect(scrubApart(request, new AbortController().signal)).rejects.toMatchObject({
    code: 'database_unusable',
    message: `${file} is not there any more`,
  });
  expect(existsSync(file)).toBe(false);
});
