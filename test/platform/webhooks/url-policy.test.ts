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
