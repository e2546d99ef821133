import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { notifyServiceManager, startWatchdog } from '../../src/daemon/service-manager.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { manualClock } from '../support/manual-clock.js';

/** A fake `systemd-notify` that records its arguments. */
function messenger(script = 'echo "$@" >> "$0.said"; env >> "$0.env"') {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-notify-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'systemd-notify');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  const recorded = (what: 'said' | 'env') => readFileSync(`${program}.${what}`, 'utf8');
  return {
    env: { PATH: `${folder}:/usr/bin:/bin`, NOTIFY_SOCKET: '/run/nobody', HOOK_SECRET: 'canary' },
    recorded,
  };
}

test('systemd is notified of start, reload and stop, with the main process id', async () => {
  const { env, recorded } = messenger();
  for (const message of ['ready', 'reloading', 'kept', 'stopping'] as const)
    await notifyServiceManager(message, env, silentLogger);
  const main = ` MAINPID=${process.pid}`;
  const lines = recorded('said').trimEnd().split('\n');
  expect(lines).toEqual([
    `READY=1 STATUS=following the platform${main}`,
    expect.stringMatching(/^RELOADING=1 MONOTONIC_USEC=\d{6,} STATUS=reloading the configuration MAINPID=/),
    `READY=1 STATUS=following the platform; the last reload was refused, the log says why${main}`,
    `STOPPING=1 STATUS=finishing the page under way${main}`,
  ]);
  expect(recorded('env')).toContain('NOTIFY_SOCKET=/run/nobody');
  expect(recorded('env')).not.toContain('canary');
});

test('a reload message has the time of the monotonic clock that systemd compares it with', async () => {
  const { env, recorded } = messenger();
  const micros = () => process.hrtime.bigint() / 1_000n;
  const before = micros();
  await notifyServiceManager('reloading', env, silentLogger);
  const time = BigInt(/MONOTONIC_USEC=(\d+)/.exec(recorded('said'))?.[1] ?? '0');
  expect([before <= time, time <= micros()]).toEqual([true, true]);
});

test('the watchdog is notified twice per period until it is closed', async () => {
  const { env, recorded } = messenger();
  const clock = manualClock(0);
  const watchdog = startWatchdog({ ...env, WATCHDOG_USEC: '20000000' }, clock, silentLogger);
  const fed = () => {
    try {
      return recorded('said').trimEnd().split('\n');
    } catch {
      return [];
    }
  };
  await expect.poll(() => fed().length).toBe(1);
  await expect.poll(() => clock.waiting).toBe(1);
  clock.advance(10_000);
  await expect.poll(() => fed()).toEqual(['WATCHDOG=1', 'WATCHDOG=1']);
  await watchdog.close();
});

test.each([
  ['has no WatchdogSec=', {}],
  ['watches another process', { WATCHDOG_USEC: '20000000', WATCHDOG_PID: '1' }],
])('the watchdog is not notified when the unit %s', async (_, more) => {
  const { env, recorded } = messenger();
  await startWatchdog({ ...env, ...more }, systemClock, silentLogger).close();
  expect(() => recorded('said')).toThrow('ENOENT');
});

test('without NOTIFY_SOCKET no message is sent', async () => {
  const { env, recorded } = messenger();
  await notifyServiceManager('ready', { PATH: env.PATH }, silentLogger);
  expect(() => recorded('said')).toThrow('ENOENT');
});

test.each([
  ['fails', 'exit 3'],
  ['is not installed', null],
])('a systemd-notify that %s is logged as a warning, and the daemon continues', async (_, script) => {
  const { env } = messenger(script ?? 'exit 0');
  const warned: unknown[] = [];
  const logger = { ...silentLogger, warn: (about: unknown) => warned.push(about) };
  await notifyServiceManager('ready', script === null ? { ...env, PATH: '/nowhere' } : env, logger as never);
  expect(warned).toHaveLength(1);
});
