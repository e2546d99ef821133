import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readCredentials, writeCredentials } from '../../../src/client/tokens/credentials-file.js';
import { openSignIn, type SignIn, stored } from './signed-in.js';

let { folder, path } = {} as SignIn;
beforeEach(async () => {
  ({ folder, path } = await openSignIn());
});
afterEach(() => rm(folder, { recursive: true }));

test('a credentials file that others can read is rejected, with the fix', async () => {
  await chmod(path, 0o640);
  await expect(readCredentials(path)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('mode 640'),
    about: { hint: `chmod 600 ${path}` },
  });
});

test.each([
  ['nothing', ''],
  ['no object', 'null'],
  ['no access token', JSON.stringify({ ...stored, accessToken: '' })],
  ['a nonsense expiry', JSON.stringify({ ...stored, expiresAt: 'soon' })],
])('a credentials file with %s is rejected without being quoted', async (_, text) => {
  await writeFile(path, text);
  const refusal = readCredentials(path);
  await expect(refusal).rejects.toMatchObject({ code: 'reauthorize' });
  await expect(refusal).rejects.not.toThrow(/rt_0|sk_test_1/);
});

test('a credentials file that an editor saved with a byte order mark is read', async () => {
  await writeFile(path, `\uFEFF${JSON.stringify(stored)}`);
  expect(await readCredentials(path)).toMatchObject({ accessToken: stored.accessToken });
});

test('a missing credentials file asks for a sign-in', async () => {
  await expect(readCredentials(join(folder, 'none.json'))).rejects.toMatchObject({
    code: 'reauthorize',
    about: { hint: expect.stringContaining('rosterd connect') },
  });
});

test('a credentials file written over one that others can read is private', async () => {
  await writeFile(`${path}.new`, 'leftover', { mode: 0o666 });
  await writeCredentials(path, stored);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readFile(path, 'utf8')).toContain('at_old');
});
