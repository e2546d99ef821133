import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tellServiceManager } from '../../src/daemon/service-manager.js';
import { silentLogger } from '../../src/runtime/logger.js';

/** A `systemd-notify` that writes down what it was given. */
function messenger(script = 'echo "$@" >> "$0.said"; env >> "$0.env"') {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-notify-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'systemd-notify');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  const said = (what: 'said' | 'env') => readFileSync(`${program}.${what}`, 'utf8');
  return {
    env: { PATH: `${folder}:/usr/bin:/bin`, NOTIFY_SOCKET: '/run/nobody', HOOK_SECRET: 'canary' },
    said,
  };
}

test('systemd is told that the daemon serves and that it ends, in the name of the main process', async () => {
  const { env, said } = messenger();
  await tellServiceManager('ready', env, silentLogger);
  await tellServiceManager('stopping', env, silentLogger);
  expect(said('said')).toBe(
    `--ready --status=following the platform --pid=${process.pid}\n` +
      `--stopping --status=finishing the page under way --pid=${process.pid}\n`,
  );
  expect(said('env')).toContain('NOTIFY_SOCKET=/run/nobody');
  expect(said('env')).not.toContain('canary');
});

test('without a socket nobody is told anything', async () => {
  const { env, said } = messenger();
  await tellServiceManager('ready', { PATH: env.PATH }, silentLogger);
  expect(() => said('said')).toThrow('ENOENT');
});

test.each([
  ['fails', 'exit 3'],
  ['is not installed', null],
])('a messenger that %s is a warning, and the daemon goes on', async (_, script) => {
  const { env } = messenger(script ?? 'exit 0');
  const warned: unknown[] = [];
  const logger = { ...silentLogger, warn: (about: unknown) => warned.push(about) };
  await tellServiceManager('ready', script === null ? { ...env, PATH: '/nowhere' } : env, logger as never);
  expect(warned).toHaveLength(1);
});
