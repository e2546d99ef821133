import { expect, test } from 'vitest';
import { syncFile, syncFileNow, syncFolder, syncFolderNow } from '../../src/runtime/sync-file.js';

/** Linux cannot sync a folder of this file system: EINVAL. */
const unsyncable = '/proc';

test.skipIf(process.platform !== 'linux')('a folder that cannot be synced is passed over', async () => {
  await expect(syncFolder(unsyncable)).resolves.toBeUndefined();
  expect(() => syncFolderNow(unsyncable)).not.toThrow();
});

test('a file or a folder that is not there cannot be synced', async () => {
  const missing = { code: 'ENOENT' };
  await expect(syncFolder('missing/folder')).rejects.toMatchObject(missing);
  await expect(syncFile('missing/file')).rejects.toMatchObject(missing);
  expect(() => syncFolderNow('missing/folder')).toThrow('ENOENT');
  expect(() => syncFileNow('missing/file')).toThrow('ENOENT');
});

test.skipIf(process.platform !== 'linux')('the failure to sync a file is not passed over', async () => {
  // A device is a file for which Linux has no fsync.
  await expect(syncFile('/dev/null')).rejects.toMatchObject({ code: 'EINVAL' });
  expect(() => syncFileNow('/dev/null')).toThrow('EINVAL');
});
