import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { authoritiesIn, untimely } from '../../src/runtime/authority.js';
import { folder, load, minimal, problems } from './load-config.js';

const pem = (name: string) =>
  readFileSync(new URL(`../client/fixtures/tls/${name}.pem`, import.meta.url), 'utf8');
const good = pem('authority.cert');

const withCa = { ...minimal, platform: { ...minimal.platform, ca: './ca.pem' } };

function problemOf(content: string) {
  const cwd = folder();
  writeFileSync(join(cwd, 'ca.pem'), content);
  return problems(withCa, { cwd });
}

test.each([
  ['an empty file', '', 'contains no certificate'],
  ['something else', 'BEGIN CERTIFICATE', 'contains no certificate'],
  [
    'a certificate in another form',
    Buffer.from([0x30, 0x82, 1, 2]).toString('latin1'),
    'contains no certificate',
  ],
  ['a certificate request', good.replaceAll('CERTIFICATE', 'CERTIFICATE REQUEST'), 'contains no certificate'],
  ['a private key beside the certificate', good + pem('loopback.key'), 'contains a private key'],
  ['a certificate cut short', good.replace(/\n.{40,}\n/, '\n'), 'cannot be read (number 1 of 1)'],
  [
    'a second certificate that is none',
    `${good}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
    'cannot be read (number 2 of 2)',
  ],
])('platform.ca with %s is a configuration problem with its position', (_, content, says) => {
  expect(problemOf(content)).toEqual([
    {
      path: 'platform.ca',
      where: expect.stringMatching(/^config\.json:\d+:\d+$/),
      message: expect.stringContaining(says),
      hint: expect.stringContaining('openssl x509'),
    },
  ]);
});

test('platform.ca with a certificate, or with a file that is missing on this machine, is accepted', () => {
  const cwd = folder();
  expect(load(withCa, { cwd }).config.platform.caFile).toBe(join(cwd, 'ca.pem'));
  writeFileSync(join(cwd, 'ca.pem'), `subject=CN = test\n${good}${pem('leaf.cert')}`);
  expect(load(withCa, { cwd }).warnings).toEqual([]);
});

test('a certificate that has expired or is not valid yet is reported by its number in the file', () => {
  const found = authoritiesIn(pem('leaf.cert') + pem('expired.cert') + pem('future.cert'));
  if (typeof found === 'string') throw new Error(found);
  expect(untimely(found, Date.parse('2026-11-23T00:00:00Z'))).toEqual([
    'certificate 2 expired on 2021-01-01',
    'certificate 3 is not valid before 2090-01-01',
  ]);
});
