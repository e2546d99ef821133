import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  isProcessGone,
  isProcessThere,
  isSharedProcessGone,
  processName,
} from '../../src/runtime/process-identity.js';

test('the running process and processes of unknown hosts are not considered gone', () => {
  const own = processName();
  expect(isProcessGone(`${own}:suffix`)).toBe(false);
  // Elsewhere the start of a process is not known, so it may be another one with the same pid.
  expect(isProcessThere(`${own}:suffix`)).toBe(process.platform === 'linux');
  for (const name of ['tester', '', own.replace(/^[^:]+/, 'elsewhere'), own.replace(/\.\d*\./, '.1.')])
    expect({ name, gone: isProcessGone(name), there: isProcessThere(name) }).toEqual({
      name,
      gone: false,
      there: false,
    });
});

test('a killed process is gone', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  await once(child, 'spawn');
  const name = processName().replace(/:\d+:\d*\./, `:${child.pid}:.`);
  expect(isProcessGone(name)).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isProcessGone(name)).toBe(true);
  // Without a boot id, another host of the same name cannot be distinguished from this one.
  expect(isSharedProcessGone(name)).toBe(!name.endsWith('.'));
});

test('a process of another host with the same name, or named by an earlier version, is never considered gone', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  const name = processName().replace(/:\d+:\d*\./, `:${child.pid}:1.`);
  const elsewhere = name.replace(/\.[\da-f]*$/, '.0123456789ab');
  const earlier = name.replace(/\.[\da-f]*$/, '');
  for (const one of [elsewhere, earlier]) {
    expect(isSharedProcessGone(one)).toBe(false);
    // In a local file, such names come from an earlier boot of this machine or an earlier version.
    expect(isProcessGone(one)).toBe(true);
  }
});

test.skipIf(process.platform !== 'linux')('a stopped process (SIGSTOP) is still there', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  await once(child, 'spawn');
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
  const birth = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  const name = processName().replace(/:\d+:\d*\./, `:${child.pid}:${birth}.`);
  child.kill('SIGSTOP');
  expect([isProcessThere(name), isProcessGone(name), isSharedProcessGone(name)]).toEqual([
    true,
    false,
    false,
  ]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isSharedProcessGone(name)).toBe(true);
});

test('a process whose pid another process has now is gone', () => {
  const born = /:(\d+)\./.exec(processName());
  expect(isProcessGone(processName().replace(/:\d+\./, ':1.'))).toBe(born !== null);
});
