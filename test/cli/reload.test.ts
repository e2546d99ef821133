import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ReloadRequests } from '../../src/cli/reload-requests.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { freePort } from '../support/free-port.js';
import { fakeIo } from './fake-io.js';
import { filledMirror } from './filled-mirror.js';

test('several SIGHUPs during a reload cause one more reload', async () => {
  const io = fakeIo();
  const requests = new ReloadRequests(io);
  const stop = new AbortController();
  io.signals.emit('SIGHUP');
  expect(await requests.next(stop.signal)).toBe(true);
  io.signals.emit('SIGHUP');
  io.signals.emit('SIGHUP');
  expect(await requests.next(stop.signal)).toBe(true);
  const later = requests.next(stop.signal);
  stop.abort();
  expect(await later).toBe(false);
  requests.close();
  expect(io.signals.listenerCount('SIGHUP')).toBe(0);
});

test('a SIGTERM takes precedence over an earlier SIGHUP', async () => {
  const io = fakeIo();
  const requests = new ReloadRequests(io);
  io.signals.emit('SIGHUP');
  expect(await requests.next(AbortSignal.abort())).toBe(false);
  requests.close();
});

test('on a terminal SIGHUP is no request to reload', () => {
  const io = fakeIo({ tty: true });
  new ReloadRequests(io).close();
  expect(io.signals.listenerCount('SIGHUP')).toBe(0);
});

test.skipIf(process.platform === 'win32')(
  'a running daemon reloads on SIGHUP, keeps going when the file is wrong, and ends with 0',
  async () => {
    const world = await filledMirror(20);
    onTestFinished(() => world.close());
    const port = await freePort();
    const file = join(world.folder, 'config.json');
    const settings = JSON.parse(readFileSync(file, 'utf8')) as object;
    const configure = (more: object) => writeFileSync(file, JSON.stringify({ ...settings, ...more }));
    const noticesOf = (field: string) => [
      { kind: 'command', name: 'bell', command: ['true'], rules: { fields: [field] } },
    ];
    configure({ console: { listen: `127.0.0.1:${port}` }, notices: noticesOf('commited_cents') });
    // Replaces systemd-notify with a program that records its arguments.
    const notify = join(world.folder, 'systemd-notify');
    writeFileSync(notify, '#!/bin/sh\necho "$@" >> "$0.said"\n');
    chmodSync(notify, 0o755);
    const main = join(packageRoot, 'dist', 'cli', 'main.js');
    const child = spawn(process.execPath, [main, 'run', '--config', file, '--log-format', 'json'], {
      cwd: packageRoot,
      env: {
        PATH: `${world.folder}:${process.env.PATH}`,
        ACME: world.company.token,
        NOTIFY_SOCKET: '/run/nobody',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let log = '';
    child.stderr?.on('data', (chunk) => {
      log += String(chunk);
    });
    const logged = (text: string) => expect.poll(() => log).toContain(text);
    const states = () => (readFileSync(`${notify}.said`, 'utf8').match(/^[A-Z]+=1/gm) ?? []).join(' ');
    const reached = (text: string) =>
      expect
        .poll(
          () => {
            try {
              return states();
            } catch {
              return '';
            }
          },
          { timeout: 120_000 },
        )
        .toBe(text);

    await reached('READY=1');
    await logged('did you mean committed_cents?');
    child.kill('SIGHUP');
    await logged('secrets in files and commands were read again');
    await reached('READY=1 RELOADING=1 READY=1');

    configure({
      console: { listen: `127.0.0.1:${port}` },
      sync: { intervalSeconds: 77 },
      notices: noticesOf('raized_cents'),
    });
    child.kill('SIGHUP');
    await logged('"the configuration was reloaded"');
    await logged('did you mean raised_cents?');
    await reached('READY=1 RELOADING=1 READY=1 RELOADING=1 READY=1');
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);

    writeFileSync(file, '{"sources": ');
    child.kill('SIGHUP');
    await logged('keeps its configuration');
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);

    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(states()).toMatch(/ RELOADING=1 READY=1 STOPPING=1$/);
  },
);
