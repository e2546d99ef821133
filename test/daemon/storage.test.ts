import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freeBytesOf, storageOf } from '../../src/daemon/storage.js';
import { tempFolder } from '../store/temp-folder.js';

test('storage: the sizes of the files are reported, and that they are unknown once the folder is gone', async () => {
  const folder = tempFolder();
  const place = { kind: 'sqlite', file: join(folder, 'mirror.db') } as const;
  writeFileSync(place.file, 'twelve bytes');
  expect(await storageOf(place)).toMatchObject({ databaseBytes: 12, logBytes: 0 });
  expect(await freeBytesOf(place)).toBeGreaterThan(0);
  rmSync(folder, { recursive: true });
  expect(await storageOf(place)).toBeNull();
  expect(await freeBytesOf(place)).toBe('unknown');
});
