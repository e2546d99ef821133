import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, inspect } from 'node:util';
import { expect, test } from 'vitest';
import { isOpenToOthers, Secret, type SecretReference } from '../../src/config/secrets.js';
import { folder } from './load-config.js';

const secret = (reference: SecretReference, env: Record<string, string> = {}, at = folder()) =>
  new Secret('sources[0].token', reference, { env: { PATH: process.env.PATH, ...env }, folder: at });

test('a printed secret shows its origin and never its value', () => {
  const held = secret('at_test_abc');
  const named = secret({ env: 'TOKEN' }, { TOKEN: 'at_live_abc' });
  expect(`${named}`).toBe('(secret, from env TOKEN)');
  for (const text of [
    JSON.stringify({ held, named }),
    inspect({ held, named }, { depth: 9, showHidden: true }),
    format('%s %o %j', held, named, named),
    String(held),
  ]) {
    expect(text).not.toContain('abc');
    expect(text).toContain('(secret, ');
  }
});

test('a secret is read from the environment, and a missing variable is reported', async () => {
  expect(await secret({ env: 'TOKEN' }, { TOKEN: ' at_live_abc\n' }).reveal()).toBe('at_live_abc');
  await expect(secret({ env: 'TOKEN' }).reveal()).rejects.toMatchObject({
    code: 'usage',
    message: 'sources[0].token: the environment variable TOKEN is not set',
  });
});

test('a secret is read only from a file that others cannot read', async () => {
  const file = join(folder(), 'a token');
  writeFileSync(file, 'at_live_abc\n', { mode: 0o600 });
  expect(await secret({ file }).reveal()).toBe('at_live_abc');
  chmodSync(file, 0o640);
  await expect(secret({ file }).reveal()).rejects.toMatchObject({
    code: 'usage',
    about: { hint: `chmod 600 "${file}"` },
  });
});

test('a secret in a pipe that no program writes to is reported, and not waited for', async () => {
  const file = join(folder(), 'pipe');
  execFileSync('mkfifo', ['-m', '600', file]);
  await expect(secret({ file }).reveal()).rejects.toMatchObject({
    code: 'usage',
    message: `sources[0].token: ${file} is a pipe that no program writes to`,
  });
});

test.each([
  ['its own, closed', 0o100600, 1000, 1000, false],
  ['its own, readable by its group', 0o100640, 1000, 1000, true],
  ['of root, readable by a group: systemd credentials, Kubernetes fsGroup', 0o100440, 0, 1000, false],
  ['of root, closed to everybody else', 0o100400, 0, 1000, false],
  ['of root, writable by a group', 0o100460, 0, 1000, true],
  ['of root, readable by everybody, as Docker Swarm mounts by default', 0o100444, 0, 1000, true],
  ['of root, readable by a group, where the daemon is root itself', 0o100640, 0, 0, true],
  ['of another user, readable by a group', 0o100640, 1001, 1000, true],
])('whether others can read a secret file depends on owner and mode: %s', (_, mode, uid, ownUser, open) => {
  expect(isOpenToOthers({ mode, uid }, ownUser)).toBe(open);
});

test('a rotated file takes effect without a restart', async () => {
  const file = join(folder(), 'token');
  writeFileSync(file, 'old', { mode: 0o600 });
  const held = secret({ file });
  expect(await held.reveal()).toBe('old');
  writeFileSync(file, 'new');
  expect(await held.reveal()).toBe('new');
});

test('a folder in place of a secret file is reported, without advice to close it', async () => {
  const at = folder();
  chmodSync(at, 0o755);
  await expect(secret({ file: at }).reveal()).rejects.toMatchObject({
    message: `sources[0].token: ${at} is a folder`,
    about: { hint: 'name the file in it' },
  });
});

test('a missing or empty secret file is reported with its path', async () => {
  const at = folder();
  await expect(secret({ file: join(at, 'none') }).reveal()).rejects.toThrow(/none cannot be read \(ENOENT\)/);
  writeFileSync(join(at, 'empty'), '\n', { mode: 0o600 });
  await expect(secret({ file: join(at, 'empty') }).reveal()).rejects.toMatchObject({
    message: expect.stringMatching(/empty is empty$/),
    about: { hint: 'write the secret into it, and nothing else' },
  });
});

test('a secret is read from a command that runs without a shell', async () => {
  const command = [process.execPath, '-e', 'console.log(process.argv[1])', '$HOME;at_live_abc'];
  expect(await secret({ command }).reveal()).toBe('$HOME;at_live_abc');
});

test.each([
  ['fails', [process.execPath, '-e', 'console.error("at_live_abc"); process.exit(7)'], /ended with code 7/],
  ['prints nothing', [process.execPath, '-e', ''], /printed nothing/],
  ['prints too much', [process.execPath, '-e', 'console.log("x".repeat(70_000))'], /printed more than 64 KB/],
  ['is killed', [process.execPath, '-e', 'process.kill(process.pid, "SIGKILL")'], /was killed by SIGKILL/],
  ['does not exist', ['/nonexistent/program'], /could not be run \(ENOENT\)/],
  // Node throws this one and a lack of memory.
  ['is below a file', [`${process.execPath}/program`], /the command .* could not be run \(ENOTDIR\)/],
])('a secret command that %s is reported without its output', async (_, command, message) => {
  const failure = await secret({ command })
    .reveal()
    .catch((error: unknown) => error);
  expect(inspect(failure)).toMatch(message);
  expect(inspect(failure, { depth: 9 }).replaceAll(/command: \[.*\]/g, '')).not.toContain('at_live_abc');
});

test.each([
  ['fails', 'process.exit(7)', 'unreachable'],
  ['is killed, as without memory', 'process.kill(process.pid, "SIGKILL")', 'unreachable'],
  ['prints too much', 'console.log("x".repeat(70_000))', 'usage'],
])('a secret command that %s: whether it is retried', async (_, script, code) => {
  await expect(secret({ command: [process.execPath, '-e', script] }).reveal()).rejects.toMatchObject({
    code,
  });
});

test('checking a secret does not run its command', async () => {
  await expect(secret({ command: ['/nonexistent/program'] }).check()).resolves.toBeUndefined();
  await expect(secret({ env: 'NONE' }).check()).rejects.toThrow(/not set/);
});
