import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sendToCommand } from '../../src/outbox/send-command.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { tempFolder } from '../store/temp-folder.js';
import { dueNotice } from './samples.js';

const never = new AbortController().signal;
/** A clock whose waits end at once, so every timeout has passed. */
const hasty: Clock = { ...systemClock, wait: async () => {} };

describe('send: a command', () => {
  const parts = { clock: systemClock, env: {} };
  const node = (script: string, ...args: string[]) => [process.execPath, '-e', script, ...args];

  test('a command gets the notice on stdin and its arguments unchanged, without a shell', async () => {
    const file = join(tempFolder(), 'told');
    const script =
      "require('fs').writeFileSync(process.argv[1], require('fs').readFileSync(0) + process.argv[2])";
    const send = sendToCommand(node(script, file, '$(id) *'), parts);
    expect(await send(dueNotice(), never)).toEqual({ kind: 'delivered' });
    expect(readFileSync(file, 'utf8')).toBe(`${dueNotice().body}\n$(id) *`);
  });

  test('a command gets the given environment and no other variable', async () => {
    const file = join(tempFolder(), 'env');
    const script = "require('fs').writeFileSync(process.argv[1], JSON.stringify(Object.keys(process.env)))";
    const env = { GIVEN: 'yes' };
    expect(await sendToCommand(node(script, file), { ...parts, env })(dueNotice(), never)).toEqual({
      kind: 'delivered',
    });
    const names: unknown = JSON.parse(readFileSync(file, 'utf8'));
    expect(names).toContain('GIVEN');
    // A variable that the test itself has.
    expect(names).not.toContain('VITEST');
  });

  test.each([
    ['fails', node('process.exit(3)'), 'ended with code 3'],
    ['does not exist', ['/nowhere/to/be/found'], 'could not be run (ENOENT)'],
    // Node throws this one and a lack of memory, instead of reporting them by an event.
    ['is below a file', [join(process.execPath, 'program')], 'could not be run (ENOTDIR)'],
  ])('a command that %s is retried', async (_, command, why) => {
    expect(await sendToCommand(command, parts)(dueNotice(), never)).toEqual({ kind: 'failed', why });
  });

  test('a command that hangs is killed', async () => {
    const send = sendToCommand(node('setInterval(() => {}, 1000)'), { ...parts, clock: hasty });
    expect(await send(dueNotice(), never)).toEqual({ kind: 'failed', why: 'did not end within 30 s' });
  });

  test('a command that hangs is killed with the processes that it started', async () => {
    const file = join(tempFolder(), 'pid');
    const inner = `require('fs').writeFileSync(process.argv[1], String(process.pid)); setInterval(() => {}, 1000)`;
    const script = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(inner)}, process.argv[1]]); setInterval(() => {}, 1000)`;
    const started = () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);
    // Its time is over once the inner process runs.
    const wait = () => expect.poll(started).toBeGreaterThan(0);
    const send = sendToCommand(node(script, file), {
      ...parts,
      clock: { ...systemClock, wait },
      runMillisMax: 5_000,
    });
    expect(await send(dueNotice(), never)).toEqual({ kind: 'failed', why: 'did not end within 5 s' });
    const lives = () => {
      try {
        return process.kill(started(), 0);
      } catch {
        return false;
      }
    };
    await expect.poll(lives).toBe(false);
  });
});
