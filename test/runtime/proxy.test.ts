import { expect, test } from 'vitest';
import { proxiesOf, proxyName } from '../../src/runtime/proxy.js';

const found = (env: Record<string, string>, address = 'https://api.example.com/v1') =>
  proxiesOf(env)(new URL(address));

test.each<[string, string, string, string | null]>([
  ['http://proxy.example:3128', 'http://proxy.example:3128', '3128', null],
  ['proxy.example:3128', 'http://proxy.example:3128', '3128', null],
  ['http://proxy.example', 'http://proxy.example:80', '80', null],
  ['https://proxy.example/', 'https://proxy.example:443', '443', null],
  ['http://[2001:db8::1]:3128', 'http://[2001:db8::1]:3128', '3128', null],
  ['http://ann:p%40ss%3A@proxy.example:3128', 'http://proxy.example:3128', '3128', 'ann:p@ss:'],
  ['http://ann@proxy.example:3128', 'http://proxy.example:3128', '3128', 'ann:'],
])('proxy: HTTPS_PROXY=%s', (value, name, port, user) => {
  const proxy = found({ HTTPS_PROXY: value });
  expect(proxy === null ? null : proxyName(proxy)).toBe(name);
  expect(proxy).toMatchObject({
    port,
    authorization: user === null ? null : `Basic ${Buffer.from(user).toString('base64')}`,
  });
});

test.each([
  [
    'socks5://ann:Zq7secret@proxy.example:1080',
    'HTTPS_PROXY names a proxy for socks5, which rosterd cannot use',
  ],
  ['http://', 'HTTPS_PROXY is not the address of a proxy'],
  ['http://ann:Zq7secret@proxy.example:99999', 'HTTPS_PROXY is not the address of a proxy'],
  ['http://ann:12/Zq7secret@proxy.example', 'HTTPS_PROXY has something behind the port of the proxy'],
  ['http://ann:12#Zq7secret@proxy.example', 'HTTPS_PROXY has something behind the port of the proxy'],
  ['http://ann:12?Zq7secret@proxy.example', 'HTTPS_PROXY has something behind the port of the proxy'],
  ['http://proxy.example/Zq7.pac', 'HTTPS_PROXY has something behind the port of the proxy'],
  ['http://ann:Zq7%secret@proxy.example', /^HTTPS_PROXY has a user or password with a %/],
])('proxy: %s is refused without showing it', (value, message) => {
  expect(() => found({ HTTPS_PROXY: value })).toThrow(message);
  expect(() => found({ HTTPS_PROXY: value })).not.toThrow('Zq7');
});

test.each<[Record<string, string>, string | null]>([
  [{}, null],
  [{ HTTPS_PROXY: '' }, null],
  [{ HTTPS_PROXY: ' ' }, null],
  [{ HTTP_PROXY: 'http://a:1' }, null],
  [{ https_proxy: 'http://b:2', HTTPS_PROXY: 'http://a:1' }, 'http://b:2'],
  [{ https_proxy: '', HTTPS_PROXY: 'http://a:1' }, null],
  [{ HTTPS_PROXY: 'http://a:1', no_proxy: '', NO_PROXY: '*' }, 'http://a:1'],
])('proxy: of the variables %j', (env, name) => {
  const proxy = found(env);
  expect(proxy === null ? null : proxyName(proxy)).toBe(name);
});

test.each<[string, string, boolean]>([
  ['', 'http://api.example.com', false],
  ['', 'https://localhost:8443', false],
  ['', 'https://app.localhost', false],
  ['', 'https://127.0.0.2', false],
  ['', 'https://127.255.0.1', false],
  ['', 'https://[::1]:8443', false],
  ['', 'https://127.example.com', true],
  ['*', 'https://api.example.com', false],
  ['example.com', 'https://api.example.com', false],
  ['example.com', 'https://example.com', false],
  ['.example.com', 'https://api.example.com', false],
  ['*.example.com', 'https://api.example.com', false],
  ['EXAMPLE.com', 'https://API.example.COM', false],
  ['example.com', 'https://badexample.com', true],
  ['ample.com', 'https://example.com', true],
  ['example.com:8443', 'https://example.com:8443', false],
  ['example.com:443', 'https://example.com', false],
  ['example.com:8443', 'https://example.com', true],
  ['other.test, example.com other.example', 'https://api.example.com', false],
  ['10.0.0.0/8', 'https://10.1.2.3', false],
  ['10.0.0.0/8', 'https://11.1.2.3', true],
  ['10.0.0.0/8', 'https://10.example.com', true],
  ['10.0.0.0/33', 'https://10.1.2.3', true],
  ['10.1.2.3/32', 'https://10.1.2.3', false],
  ['10.1.2.3/32', 'https://10.1.2.4', true],
  ['10.1.2.3', 'https://10.1.2.3:8443', false],
  ['2.3', 'https://10.1.2.3', true],
  ['2001:db8::/32', 'https://[2001:db8::7]', false],
  ['2001:db8::7/128', 'https://[2001:db8::7]', false],
  ['2001:db8::7/128', 'https://[2001:db8::8]', true],
  ['2001:db8::/129', 'https://[2001:db8::7]', true],
  ['[2001:db8::7]', 'https://[2001:db8::7]', false],
  ['[2001:db8::7]:8443', 'https://[2001:db8::7]', true],
  ['2001:db8::7', 'https://[2001:db8::7]', false],
  ['2001:DB8:0::7', 'https://[2001:db8::7]', false],
  ['2001:db8::8', 'https://[2001:db8::7]', true],
  ['10.1.2.3', 'https://[::ffff:10.1.2.3]', false],
  ['.', 'https://api.example.com', true],
  ['example.com.', 'https://api.example.com', false],
  ['example.com.:8443', 'https://example.com:8443', false],
  ['example.com', 'https://api.example.com.', false],
  ['example.com..', 'https://example.com', true],
  ['', 'https://localhost.', false],
  ['Bücher.example', 'https://bücher.example', false],
  ['.bücher.example', 'https://api.bücher.example', false],
  ['BÜCHER。example', 'https://bücher.example', false],
  ['xn--bcher-kva.example', 'https://bücher.example', false],
  ['bücher.example', 'https://bucher.example', true],
  ['ü\u{fffd}.example', 'https://example', true],
  ['https://example.com', 'https://api.example.com:8443', false],
  ['https://example.com/v1?a=b', 'https://example.com', false],
  ['https://example.com:8443/', 'https://example.com:8443', false],
  ['https://example.com:8443/', 'https://example.com', true],
  ['http://10.1.2.3/', 'https://10.1.2.3', false],
  ['https://[2001:db8::7]:443', 'https://[2001:db8::7]', false],
  ['https://', 'https://example.com', true],
])('proxy: NO_PROXY=%s, %s is reached through it: %s', (except, address, through) => {
  expect(found({ HTTPS_PROXY: 'http://a:1', NO_PROXY: except }, address) !== null).toBe(through);
});
