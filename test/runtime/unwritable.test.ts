import { expect, test } from 'vitest';
import { reaction } from '../../src/domain/fault.js';
import { unreadable, unwritable } from '../../src/runtime/unwritable.js';

test.each([
  ['ENOSPC', 'retry', 'make room on its disk'],
  ['EDQUOT', 'retry', 'make room on its disk'],
  ['EIO', 'retry', 'check its disk, and the log of the kernel'],
  ['ESTALE', 'retry', 'check its disk, and the log of the kernel'],
  ['EROFS', 'halt', 'its file system is mounted read-only'],
  ['EACCES', 'halt', 'check who owns its folder'],
  ['ENOENT', 'halt', 'check who owns its folder'],
])('a file that cannot be written because of %s: the reaction is %s', (code, expected, hint) => {
  const fault = unwritable('the file', Object.assign(new Error(code), { code }));
  expect(fault.message).toBe(`the file cannot be written (${code})`);
  expect(fault.about.hint).toBe(hint);
  expect(reaction[fault.code]).toBe(expected);
});

test('a file that cannot be written for a lack of descriptors is retried, with the limit named', () => {
  const fault = unwritable('the file', Object.assign(new Error('EMFILE'), { code: 'EMFILE' }));
  expect(fault.code).toBe('out_of_descriptors');
  expect(reaction[fault.code]).toBe('retry');
  expect(fault.about.hint).toContain('ulimit -n');
});

test.each([
  ['EIO', 'retry', 'check its disk, and the log of the kernel'],
  ['EACCES', 'halt', 'as the caller says'],
  ['EISDIR', 'halt', 'it is a folder'],
  ['EMFILE', 'retry', expect.stringContaining('ulimit -n')],
])('a file that cannot be read because of %s: the reaction is %s', (code, expected, hint) => {
  const fault = unreadable('the file', Object.assign(new Error(code), { code }), 'as the caller says');
  expect(fault.message).toContain(code);
  expect([reaction[fault.code], fault.about.hint]).toEqual([expected, hint]);
});
