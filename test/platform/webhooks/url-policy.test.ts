import { expect, test } from 'vitest';
import { isLoopbackAddress, isPublicAddress } from '../../../src/platform/webhooks/blocked-addresses.js';
import { judgeUrl } from '../../../src/platform/webhooks/url-policy.js';
import { privateAddresses, privateSpellings } from './spellings.js';

test('SEC-07 the URL policy rejects every notation of a private, internal or malformed address', () => {
  const spellings = privateSpellings(8443);
  expect(new Set(spellings).size).toBeGreaterThan(600);
  expect(spellings.filter((text) => judgeUrl(text, false).ok)).toEqual([]);
});

test('SEC-07 the URL policy accepts public https URLs', () => {
  const passing = [
    'https://hooks.example.com/in?key=1',
    'https://HOOKS.example.com:8443/',
    'https://hooks.example.com:443',
    'https://8.8.8.8/hook',
    'https://[2606:4700::1111]/hook',
    'https://bücher.example/hook',
    'https://xn--bcher-kva.example/hook',
    'https://hooks.example.com/a@b',
    'https://local.example.com/',
  ];
  expect(passing.filter((text) => !judgeUrl(text, false).ok)).toEqual([]);
});

test('URL policy: a name outside ASCII passes however often it was judged', () => {
  // On Node 22, URL.canParse refuses such a text once V8 has compiled its caller.
  const passes = () => judgeUrl('https://bücher.example/hook', false).ok;
  expect(Array.from({ length: 30_000 }, passes).filter((ok) => !ok)).toEqual([]);
});

test('URL policy: port 443 and ports from 1024 up pass, others do not', () => {
  const passes = (port: number) => judgeUrl(`https://hooks.example.com:${port}/`, false).ok;
  expect([1, 80, 442, 444, 1023].filter(passes)).toEqual([]);
  expect([443, 1024, 65_535].filter(passes)).toEqual([443, 1024, 65_535]);
});

test('URL policy: a host name has at most 253 characters', () => {
  const name = (length: number) => `${'a.'.repeat((length - 3) / 2)}com`;
  const passes = (length: number) => judgeUrl(`https://${name(length)}/`, false).ok;
  expect([name(253).length, passes(253)]).toEqual([253, true]);
  expect(judgeUrl(`https://b${name(253)}/`, false).ok).toBe(false);
});

test('URL policy: with loopback allowed, only loopback literals and localhost pass additionally, over http and https', () => {
  const passing = [
    'http://127.0.0.1:1234/',
    'https://127.0.0.1:1/',
    'http://localhost:80/',
    'http://[::1]:99/x',
  ];
  expect(passing.filter((text) => !judgeUrl(text, true).ok)).toEqual([]);
  const refused = [
    'http://hooks.example.com/',
    'http://10.0.0.1/',
    'https://192.168.0.1/',
    'http://0.0.0.0/',
    'http://169.254.169.254/',
    'http://foo.localhost/',
    'http://localhost./',
    'http://[::ffff:127.0.0.1]/',
    'http://user@localhost/',
  ];
  expect(refused.filter((text) => judgeUrl(text, true).ok)).toEqual([]);
});

test('URL policy: an allowed localhost may resolve only to loopback', () => {
  const verdict = judgeUrl('http://localhost:1234/', true);
  if (!verdict.ok) throw new Error(verdict.why);
  expect(['127.0.0.1', '::1', '10.0.0.1', '8.8.8.8'].map(verdict.target.permits)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('URL policy: only valid public IP addresses count as public', () => {
  expect(privateAddresses.filter(isPublicAddress)).toEqual([]);
  expect(
    ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111'].filter((it) => !isPublicAddress(it)),
  ).toEqual([]);
  expect(['127.0.0.1', '127.9.9.9', '::1'].every(isLoopbackAddress)).toBe(true);
  expect(['10.0.0.1', '::', '::ffff:127.0.0.1', 'localhost', '::1%lo'].some(isLoopbackAddress)).toBe(false);
});

test.each([
  ['0.255.255.255', '1.0.0.0'],
  ['10.255.255.255', '11.0.0.0'],
  ['100.127.255.255', '100.128.0.0'],
  ['127.255.255.255', '128.0.0.0'],
  ['168.63.129.16', '168.63.129.17'],
  ['169.254.255.255', '169.255.0.0'],
  ['172.31.255.255', '172.32.0.0'],
  ['192.0.0.255', '192.0.1.0'],
  ['192.0.2.255', '192.0.3.0'],
  ['192.88.99.255', '192.88.100.0'],
  ['192.168.255.255', '192.169.0.0'],
  ['198.19.255.255', '198.20.0.0'],
  ['198.51.100.255', '198.51.101.0'],
  ['203.0.113.255', '203.0.114.0'],
  ['2001:1ff:ffff::1', '2001:200::1'],
  ['2001:db8:ffff::1', '2001:db9::1'],
  ['2002:ffff::1', '2003::1'],
  ['3fff:fff:ffff::1', '3fff:1000::1'],
])('SEC-07 the range that ends with %s is private, and %s after it is public', (last, next) => {
  expect([isPublicAddress(last), isPublicAddress(next)]).toEqual([false, true]);
});

test('SEC-07 IPv4 from 224 up and IPv6 outside 2000::/3 are not public; loopback is 127.0.0.0/8', () => {
  const ends = ['224.0.0.0', '239.255.255.255', '240.0.0.0', '255.255.255.255', '1fff::1', '4000::1'];
  expect(ends.filter(isPublicAddress)).toEqual([]);
  expect(['223.255.255.255', '2000::1', '3ffe::1'].filter((it) => !isPublicAddress(it))).toEqual([]);
  expect(['127.0.0.0', '127.255.255.255'].every(isLoopbackAddress)).toBe(true);
  expect(['126.255.255.255', '128.0.0.0'].some(isLoopbackAddress)).toBe(false);
});
