import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import {
  descriptorLimit,
  descriptorsFault,
  descriptorsSpent,
  endedWithoutAnswer,
} from '../../src/runtime/file-descriptors.js';
import { seededRandom } from '../../src/runtime/random.js';
import { failureOf } from '../../src/sync/failure-of.js';
import { StandingClock } from '../store/support/mirror.js';

const withCode = (code: string, more: object = {}) =>
  Object.assign(new Error('it failed'), { code, ...more });

test.each([
  ['EMFILE itself', withCode('EMFILE'), 'this process cannot open more files and connections'],
  [
    'EMFILE as the cause of a cause',
    new Error('a', { cause: new Error('b', { cause: withCode('EMFILE') }) }),
    'this process',
  ],
  [
    'EMFILE at one of several addresses',
    new AggregateError([withCode('ECONNREFUSED'), withCode('EMFILE')]),
    'this process',
  ],
  [
    'a native module that cannot be opened for lack of a descriptor',
    withCode('ERR_DLOPEN_FAILED', {
      message: 'linux-x64.node: cannot open shared object file: Too many open files',
    }),
    'this process',
  ],
  ['ENFILE', withCode('ENFILE'), 'this machine has no file descriptor left'],
])('%s is reported as a lack of file descriptors, with the limit to raise', (_, error, says) => {
  const fault = descriptorsFault(error);
  expect(fault).toMatchObject({ code: 'out_of_descriptors', message: expect.stringContaining(says) });
  expect(fault?.about.hint).toContain('raise the limit');
});

test('other errors, and a file that cannot be opened while descriptors are free, are not reported as a lack of descriptors', () => {
  expect(descriptorsFault(withCode('ENOENT'))).toBeNull();
  expect(descriptorsFault(withCode('ERR_DLOPEN_FAILED'))).toBeNull();
  expect(descriptorsFault('EMFILE')).toBeNull();
  expect(descriptorsSpent(withCode('SQLITE_CANTOPEN'))).toBeNull();
});

test.each([
  ['SIGINT', 'stopped'],
  ['SIGTERM', 'stopped'],
] as const)('a child process that %s ended without an answer is the fault %s', (signal, code) => {
  expect(endedWithoutAnswer('the process', signal)).toMatchObject({ code });
});

test('a child process that could not be started is reported with the reason', () => {
  expect(endedWithoutAnswer('the process', null, withCode('EMFILE'))).toMatchObject({
    code: 'out_of_descriptors',
  });
  expect(endedWithoutAnswer('the process', null, withCode('EAGAIN'))).toMatchObject({
    code: descriptorLimit() === null || Number(descriptorLimit()) >= 256 ? 'internal' : 'out_of_descriptors',
    message: expect.stringMatching(/EAGAIN|its limit/),
  });
});

test('descriptorLimit is a number, or null where the system does not report it', () => {
  const limit = descriptorLimit();
  expect(limit === null || limit > 0).toBe(true);
});

test.each([
  ['itself', withCode('EMFILE')],
  [
    'while it read a credential',
    new Fault('usage', 'the credentials file cannot be opened (EMFILE)', { cause: withCode('EMFILE') }),
  ],
])('a tick that ran out of file descriptors %s is retried and halts nothing', (_, error) => {
  const plan = { backoff: { baseMillis: 1_000, capMillis: 300_000 }, failures: 0 };
  const failure = failureOf(error, { ...plan, clock: new StandingClock(), random: seededRandom(1) });
  expect(failure).toMatchObject({ code: 'out_of_descriptors' });
});
