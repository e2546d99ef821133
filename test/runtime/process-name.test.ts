import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isProcessGone, isProcessThere, processName } from '../../src/runtime/process-name.js';

test('this process is not gone, and neither is what nobody here can know of', () => {
  const own = processName();
  expect(isProcessGone(`${own}:suffix`)).toBe(false);
  expect(isProcessThere(`${own}:suffix`)).toBe(true);
  for (const name of ['tester', '', own.replace(/^[^:]+/, 'elsewhere'), own.replace(/\.\d*$/, '.1')])
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
});

test('a process whose number another one has now is gone', () => {
  const born = /:(\d+)\./.exec(processName());
  expect(isProcessGone(processName().replace(/:\d+\./, ':1.'))).toBe(born !== null);
});
