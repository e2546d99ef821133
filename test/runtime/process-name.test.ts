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

test('this process is not gone, and neither is what nobody here can know of', () => {
  const own = processName();
  expect(isProcessGone(`${own}:suffix`)).toBe(false);
  expect(isProcessThere(`${own}:suffix`)).toBe(true);
  for (const name of ['tester', '', own.replace(/^[^:]+/, 'elsewhere'), own.replace(/\.\d*\./, '.1.')])
    expect({ name, gone: isProcessGone(name), there: isProcessThere(name) }).toEqual({
      name,
      gone: false,
      there: false,
    });
});

test('a process that was killed is gone', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  await once(child, 'spawn');
  const name = processName().replace(/:\d+:\d*\./, `:${child.pid}:.`);
  expect(isProcessGone(name)).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isProcessGone(name)).toBe(true);
  // Where the kernel does not tell its starts apart, a host of the same name cannot be told from this one.
  expect(isSharedProcessGone(name)).toBe(!name.endsWith('.'));
});

test('a process of another host with the same name is never judged, nor one named by an earlier version', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  const name = processName().replace(/:\d+:\d*\./, `:${child.pid}:1.`);
  const elsewhere = name.replace(/\.[\da-f]*$/, '.0123456789ab');
  const earlier = name.replace(/\.[\da-f]*$/, '');
  for (const one of [elsewhere, earlier]) {
    expect(isSharedProcessGone(one)).toBe(false);
    // In a file of this machine they are of an earlier start of it, or of an earlier version.
    expect(isProcessGone(one)).toBe(true);
  }
});

test('a process that stands still is there', async () => {
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

test('a process whose number another one has now is gone', () => {
  const born = /:(\d+)\./.exec(processName());
  expect(isProcessGone(processName().replace(/:\d+\./, ':1.'))).toBe(born !== null);
});
