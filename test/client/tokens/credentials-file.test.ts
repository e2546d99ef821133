import { chmod, rm, stat, writeFile } from 'node:fs/promises';
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
  ['nothing', '', 'it is not JSON'],
  ['no object', 'null', 'it is not an object'],
  ['text only', '"rt_0"', 'it is not an object'],
  ['no access token', JSON.stringify({ ...stored, accessToken: '' }), '"accessToken" is missing'],
  ['a nonsense expiry', JSON.stringify({ ...stored, expiresAt: 'soon' }), '"expiresAt" is not a time'],
])('a credentials file with %s is rejected without being quoted', async (_, text, problem) => {
  await writeFile(path, text);
  await expect(readCredentials(path)).rejects.toMatchObject({
    code: 'reauthorize',
    message: `the credentials file ${path} is not usable: ${problem}`,
  });
});

test('a credentials file without a readable scope, a secret or an expiry is one without them', async () => {
  const { clientId, accessToken, refreshToken } = stored;
  await writeFile(
    path,
    JSON.stringify({ clientId, accessToken, refreshToken, clientSecret: null, scope: 7 }),
  );
  expect(await readCredentials(path)).toEqual({
    ...stored,
    clientSecret: null,
    previousRefreshToken: null,
    expiresAt: null,
    scope: '',
  });
});

test('a credentials file that cannot be opened is a problem of the configuration, not of the sign-in', async () => {
  await expect(readCredentials(join(path, 'below-a-file.json'))).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('cannot be opened (ENOTDIR)'),
  });
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
  expect(await readCredentials(path)).toEqual(stored);
});
