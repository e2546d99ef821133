import { expect, test } from 'vitest';
import { unreachable } from '../../../src/client/fetch/unreachable.js';
import { callTo } from './calls.js';

const coded = (code: unknown, cause?: unknown) =>
  Object.assign(new Error('fetch failed', { cause }), { code });
const lost = (why: string) => `api.test could not be reached for GET /investments: ${why}`;
const expired = 'its certificate has expired';

test.each<[string, unknown, string, string, RegExp | null]>([
  ['a code', coded('ECONNRESET'), 'unreachable', lost('ECONNRESET'), null],
  [
    'the code of a cause',
    new TypeError('failed', { cause: coded('ECONNREFUSED') }),
    'unreachable',
    lost('ECONNREFUSED'),
    null,
  ],
  ['a code that is a number', coded(7, coded('ETIMEDOUT')), 'unreachable', lost('ETIMEDOUT'), null],
  ['a code that is a sentence', coded('Mara said so'), 'unreachable', lost('no answer'), null],
  ['no code', new Error('Mara'), 'unreachable', lost('no answer'), null],
  ['no error', { code: 'ECONNRESET' }, 'unreachable', lost('no answer'), null],
  [
    'an expired certificate',
    coded('CERT_HAS_EXPIRED'),
    'unreachable',
    lost(`${expired} (CERT_HAS_EXPIRED)`),
    /clock/,
  ],
  [
    'too many bytes',
    coded('UND_ERR_RES_EXCEEDED_MAX_SIZE'),
    'contract_broken',
    'GET /investments answered with more bytes than are accepted',
    null,
  ],
  [
    'too many headers',
    coded('UND_ERR_HEADERS_OVERFLOW'),
    'contract_broken',
    'GET /investments answered with more headers than are accepted',
    null,
  ],
  [
    'a response that is not HTTP',
    coded('HPE_INVALID_CONSTANT'),
    'unreachable',
    lost('HPE_INVALID_CONSTANT'),
    /https/,
  ],
])('unreachable: a connection that failed with %s', (_, error, code, message, hint) => {
  const fault = unreachable(callTo('http://api.test/investments?cursor=c_1'), error);
  expect(fault).toMatchObject({ code, message });
  expect(fault.about.hint ?? '').toMatch(hint ?? /^$/);
  expect(fault.about.lasting).toBe(message.includes(expired) ? true : undefined);
});

test('unreachable: a response over https that is not HTTP needs no https', () => {
  const fault = unreachable(callTo('https://api.test/investments'), coded('HPE_INVALID_CONSTANT'));
  expect(fault).toMatchObject({ code: 'unreachable', message: lost('HPE_INVALID_CONSTANT') });
  expect(fault.about.hint).toBeUndefined();
});

test('unreachable: a process without free descriptors has no problem with the platform', () => {
  expect(unreachable(callTo('http://api.test/investments'), coded('EMFILE')).code).toBe('out_of_descriptors');
});
