import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readCredentials, writeCredentials } from '../../../src/client/tokens/credentials-file.js';
import { compiledScript } from '../../support/compiled-script.js';
import { serveTokens } from './token-server.js';

const script = fileURLToPath(new URL('./dying-refresher.ts', import.meta.url));
let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rosterd-killed-'));
  path = join(folder, 'credentials.json');
  await writeCredentials(path, {
    clientId: 'pk_test_1',
    clientSecret: null,
    accessToken: 'at_old',
    refreshToken: 'rt_0',
    previousRefreshToken: null,
    expiresAt: null,
    scope: '',
  });
});
afterEach(() => rm(folder, { recursive: true }));

async function refresh(url: string, step: string, when: string) {
  const child = spawn(process.execPath, [await compiledScript(script), url, path, step, when], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { printed, signal };
}

test.each([
  ['write', 'before'],
  ['rename', 'before'],
  ['rename', 'after'],
])(
  'CLIENT-11 OAUTH-19 a refresh killed at "%s" (%s) leaves a lock and a file that the next process continues from',
  async (step, when) => {
    const { tokens, url } = await serveTokens();
    expect(await refresh(url, step, when)).toEqual({ printed: '', signal: 'SIGKILL' });
    expect((await readdir(folder)).some((file) => file.endsWith('.lock'))).toBe(true);
    const { printed, signal } = await refresh(url, 'never', '');
    expect(signal).toBeNull();
    expect(tokens.use(printed)).toBe(true);
    expect((await readCredentials(path)).accessToken).toBe(printed);
    expect(tokens.invalidGrants).toBe(0);
    expect((await readdir(folder)).filter((file) => file.endsWith('.lock'))).toEqual([]);
  },
);

test('of several processes that refresh at once, one sends the request', async () => {
  const { tokens, url } = await serveTokens();
  const done = await Promise.all([1, 2, 3].map(() => refresh(url, 'never', '')));
  expect(done.map(({ printed }) => printed)).toEqual(['at_1', 'at_1', 'at_1']);
  expect(tokens.asked).toBe(1);
});
