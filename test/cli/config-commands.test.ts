import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, minimal } from '../config/load-config.js';
import { fakeIo, rosterd } from './fake-io.js';

function inFolder(content: unknown, env: Record<string, string> = {}) {
  const cwd = folder();
  writeFileSync(join(cwd, 'config.json'), JSON.stringify(content));
  return fakeIo({ cwd, env });
}

test('config validate accepts a valid file', async () => {
  const { code, out, err } = await rosterd(['config', 'validate'], inFolder(minimal, { ACME_TOKEN: 'x' }));
  expect(code).toBe(0);
  expect(out).toMatch(/config\.json is valid\n$/);
  expect(err).toBe('');
});

test('config validate warns about a secret that is missing on this machine', async () => {
  const { code, err } = await rosterd(['config', 'validate'], inFolder(minimal));
  expect(code).toBe(0);
  expect(err).toContain('warning: sources[0].token: the environment variable ACME_TOKEN is not set');
});

test('config validate warns about a file of platform.ca that is missing on this machine', async () => {
  const platform = { ...minimal.platform, ca: 'no-such-authority.pem' };
  const io = inFolder({ ...minimal, platform }, { ACME_TOKEN: 'x' });
  const { code, err } = await rosterd(['config', 'validate'], io);
  expect(code).toBe(0);
  expect(err).toMatch(/^warning: platform\.ca: \S*no-such-authority\.pem cannot be read \(ENOENT\)\n$/);
});

test('config validate warns about a column of notices that no change has', async () => {
  const fields = ['status', 'identity.email', 'commited_cents', 'nothing.like.it'];
  const notices = [{ kind: 'command', name: 'bell', command: ['true'], rules: { fields } }];
  const { code, err } = await rosterd(
    ['config', 'validate'],
    inFolder({ ...minimal, notices }, { ACME_TOKEN: 'x' }),
  );
  const rest = 'which is no column of an investment: it matches no change';
  expect({ code, err }).toEqual({
    code: 0,
    err:
      `warning: notices[0].rules.fields[2] is "commited_cents", ${rest}; did you mean committed_cents?\n` +
      `warning: notices[0].rules.fields[3] is "nothing.like.it", ${rest}\n`,
  });
});

test('config validate prints all problems to stderr and exits 2', async () => {
  const io = inFolder({ ...minimal, sync: { perPage: 0, intervall: 1 } });
  const { code, out, err } = await rosterd(['config', 'validate'], io);
  expect(code).toBe(2);
  expect(out).toBe('');
  expect(err).toContain('the configuration has 2 problems');
  expect(err).toMatch(/config\.json:1:\d+ sync\.perPage: is 0; expected at least 1/);
  expect(err).toContain('sync.intervall: is not an option');
});

test('a configuration or an export to check in a pipe that no program writes to is refused', async () => {
  const cwd = folder();
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  for (const words of [
    ['config', 'validate', '--config', 'pipe'],
    ['status', '--config', 'pipe'],
    ['export', '--check', 'pipe'],
  ]) {
    const { code, err } = await rosterd(words, fakeIo({ cwd }));
    expect({ words, code, err }).toEqual({
      words,
      code: 2,
      err: expect.stringMatching(/^error: \S*pipe is a pipe that no program writes to\nTry: start /),
    });
  }
});

test('config validate --json prints JSON for valid and invalid files', async () => {
  const bad = await rosterd(['config', 'validate', '--json'], inFolder({ ...minimal, identity: 'sell' }));
  expect(bad.code).toBe(2);
  expect(JSON.parse(bad.out)).toMatchObject({ valid: false, problems: [{ path: 'identity' }] });
  const good = await rosterd(['config', 'validate', '--json'], inFolder(minimal, { ACME_TOKEN: 'x' }));
  expect(JSON.parse(good.out)).toEqual({ valid: true, problems: [], warnings: [] });
});

test('config show prints the origin of each value and hides secrets', async () => {
  const io = inFolder(minimal, { ROSTERD_SYNC__PER_PAGE: '50', ACME_TOKEN: 'at_live_abc' });
  const args = ['config', 'show', '--set', 'sync.concurrency=2', '--log-level', 'debug'];
  const { code, out } = await rosterd(args, io);
  expect(code).toBe(0);
  expect(out).toMatch(/^sync\.perPage +50 +env ROSTERD_SYNC__PER_PAGE$/m);
  expect(out).toMatch(/^sync\.concurrency +2 +flag --set$/m);
  expect(out).toMatch(/^log\.level +debug +flag --log-level$/m);
  expect(out).toMatch(/^sync\.intervalSeconds +60 +default$/m);
  expect(out).toMatch(/^sources\[0\]\.token +\(secret, from env ACME_TOKEN\) +file$/m);
  expect(out).not.toContain('at_live_abc');
});

test('config show --json prints a list of path, value and origin', async () => {
  const { out } = await rosterd(['config', 'show', '--json'], inFolder(minimal));
  expect(JSON.parse(out)).toContainEqual({ path: 'sync.perPage', value: 100, from: 'default' });
});

test('an invalid --set is a usage error', async () => {
  const { code, err } = await rosterd(['config', 'show', '--set', 'sync.perPage'], inFolder(minimal));
  expect(code).toBe(2);
  expect(err).toContain('Try: --set sync.intervalSeconds=30');
});

test('config schema prints the schema', async () => {
  const { code, out } = await rosterd(['config', 'schema']);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ title: 'rosterd configuration', type: 'object' });
});

test('version prints text, and JSON for programs', async () => {
  expect((await rosterd(['version'])).out).toMatch(/^rosterd \d+\.\d+\.\d+, Node \d+.*API 2026-10-01/);
  expect(JSON.parse((await rosterd(['version', '--json'])).out)).toMatchObject({
    node: process.versions.node,
  });
});
