/**
 * Strings that break programs: encodings, separators, paths, quotes, extreme numbers, prototype property names.
 */
const texts: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '%00',
  '%',
  '%zz',
  '../../etc/passwd',
  '..%2f..',
  'x\r\nX-Injected: yes',
  'x'.repeat(6000),
  '\ud800',
  '\u202egnp.exe',
  '🙂'.repeat(50),
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  "' OR 1=1 --",
  '") ; DROP TABLE users; --',
  '*',
  '%_%',
  '9'.repeat(400),
  '9007199254740993',
  '-1',
  '1e309',
  'NaN',
  '0x10',
  '٣',
  '{}',
  '[]',
  'null',
  '<script>alert(1)</script>',
  '2026-13-45T99:99:99Z',
  '+275760-09-13T00:00:00.001Z',
  '-000001-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  'c_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'p_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'http://[::ffff:127.0.0.1]:9/',
  'javascript:alert(1)',
];

export const hostileValues: readonly unknown[] = [
  ...texts,
  null,
  true,
  0,
  -0.5,
  1e308,
  2 ** 53,
  [],
  {},
  [null],
  [[[[]]]],
  { __proto__: null, constructor: { prototype: 1 } },
  Array.from({ length: 2000 }, () => 'x'),
];

/** Bodies that do not match their declared media type. */
export const brokenBodies: readonly string[] = [
  '',
  '{',
  '[',
  '"',
  'nul',
  '{"a":1}{"a":1}',
  '\u0000',
  '[1,]',
  '﻿{}',
];

/** A lone surrogate cannot be percent-encoded; in a body it is sent as an escape. */
export const wellFormed = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 'utf8').toString('utf8');
