import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isFault } from '../../src/domain/fault.js';
import { requireReplaceable } from '../../src/runtime/replaceable.js';
import { tempFolder } from '../store/temp-folder.js';

test.each([['/dev/null'], ['/dev/stdout'], ['/dev/fd/1'], ['/proc/self/fd/1']])(
  '%s is not replaced by a file',
  (device) => {
    expect(() => requireReplaceable(device)).toThrow(
      expect.toSatisfy((error: unknown) => isFault(error, 'usage') && error.message.startsWith(device)),
    );
  },
);

test('a file, a link to one, a folder and a name that is free may be replaced', () => {
  const folder = tempFolder();
  const file = join(folder, 'out.csv');
  writeFileSync(file, 'before');
  symlinkSync(file, join(folder, 'latest.csv'));
  for (const path of [file, join(folder, 'latest.csv'), folder, join(folder, 'free.csv')])
    expect(() => requireReplaceable(path)).not.toThrow();
});
