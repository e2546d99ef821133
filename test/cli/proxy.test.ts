import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Check } from '../../src/doctor/check.js';
import { systemClock } from '../../src/runtime/clock.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { pem } from '../client/fetch/pem.js';
import { type ProxyServerOptions, startOther, startProxy } from '../client/fetch/proxy-server.js';
import { makeClient } from '../conformance/credentials.js';
import { company, type RunningPlatform, startPlatform, user } from '../conformance/running-platform.js';
import { tempFolder } from '../store/temp-folder.js';
import { freePort } from '../support/free-port.js';
import { placeMigrated } from '../support/migrated-file.js';
import { consent, start } from './connect-session.js';
import { fakeIo, rosterd } from './fake-io.js';

let world: RunningPlatform;
beforeAll(async () => {
  world = await startPlatform({ clock: systemClock, companies: 1, records: 20 });
});
afterAll(() => world.close());

/** A machine that reaches https://other.test, the sandbox with a certificate, only through a proxy. */
async function behindProxy(options: ProxyServerOptions = {}, variables: Record<string, string> = {}) {
  const folder = tempFolder();
  const { port: behind } = new URL(world.url);
  const port = await startOther((asked, answer) => {
    const { method, url: path, headers } = asked;
    const onward = request({ host: '127.0.0.1', port: behind, method, path, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(answer);
    });
    asked.pipe(onward);
  });
  const proxy = await startProxy(port, options);
  writeFileSync(join(folder, 'ca.pem'), pem('other-host.cert'));
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      platform: { baseUrl: 'https://other.test', ca: 'ca.pem' },
      database: 'sqlite:mirror.db',
      sources: [{ name: 'acme', token: { env: 'ACME_TOKEN' } }],
      receiver: null,
      console: null,
    }),
  );
  placeMigrated(join(folder, 'mirror.db'));
  const env = {
    ACME_TOKEN: company(world).token,
    HTTPS_PROXY: proxy.url.replace('://', '://ann:Zq7secret@'),
    ...variables,
  };
  const io = (more: Record<string, string> = {}) =>
    fakeIo({ cwd: folder, env: { ...env, ...more }, clock: systemClock });
  const run = async (...args: string[]) => {
    const { code, out, err } = await rosterd(args, io());
    expect(out + err).not.toContain('Zq7secret');
    return { code, out, err };
  };
  return { io, run, proxy };
}

const checksOf = (out: string) => (JSON.parse(out) as { checks: Check[] }).checks;

test('behind a proxy, sync reads the platform through it, and doctor says so', async () => {
  const { run, proxy } = await behindProxy();
  const synced = await run('sync', '--json');
  expect(synced.code).toBe(0);
  expect(JSON.parse(synced.out)).toMatchObject([{ source: 'acme', outcome: 'done' }]);
  expect(new Set(proxy.asked.map(({ to }) => to))).toEqual(new Set(['other.test:443']));
  const checks = checksOf((await run('doctor', '--json')).out);
  expect(checks.filter(({ name }) => name.startsWith('platform.'))).toMatchObject([
    { name: 'platform.dns', verdict: 'skip' },
    { name: 'platform.tcp', verdict: 'pass', message: expect.stringContaining(proxy.url) as unknown },
    { name: 'platform.tls', verdict: 'pass' },
    { name: 'platform.api', verdict: 'pass' },
    { name: 'platform.clock', verdict: 'pass' },
  ]);
});

test('behind a proxy, connect signs in and installs through it', async () => {
  const { io, proxy } = await behindProxy();
  const scopes = ['read:investments', 'read:companies', 'read:investors:pii', 'write:installations'];
  const redirectUris = ['http://127.0.0.1/callback'];
  const { clientId, secret } = makeClient(world, { scopes, redirectUris, piiApproved: true });
  const args = ['connect', '--client-id', clientId, '--client-secret-env', 'PARTNER_SECRET', '--all'];
  const session = start(args, io({ PARTNER_SECRET: secret }));
  const link = await session.link();
  expect([link, proxy.asked]).toEqual([expect.stringMatching(/^https:\/\/other\.test\//), []]);
  // The browser has a proxy of its own.
  const { email } = world.ready.users.find(({ id }) => id === company(world).founder) ?? user(world);
  await fetch(await consent(world, link.replace('https://other.test', ''), email));
  expect(await session.ended).toMatchObject({
    code: 0,
    out: expect.stringContaining(company(world).id) as unknown,
  });
  expect(new Set(proxy.asked.map(({ to }) => to))).toEqual(new Set(['other.test:443']));
});

test('a proxy that refuses is the cause that sync and doctor name, with what to do', async () => {
  const { run } = await behindProxy({ answer: 'HTTP/1.1 407 Who\r\n\r\n' });
  const synced = await run('sync');
  expect([synced.code, synced.err]).toEqual([1, expect.stringMatching(/the proxy http:\S+ answered 407/)]);
  expect(synced.err).toContain('does not accept the user and password in HTTPS_PROXY');
  const checks = checksOf((await run('doctor', '--json')).out);
  expect(checks.find(({ verdict }) => verdict === 'fail')).toMatchObject({
    name: 'platform.tls',
    message: expect.stringMatching(/^no way to other\.test:443: the proxy http:\S+ answered 407$/) as unknown,
  });
});

test('a proxy that is not there is the cause that doctor names', async () => {
  const { run } = await behindProxy({}, { https_proxy: `http://127.0.0.1:${await freePort()}` });
  const checks = checksOf((await run('doctor', '--json')).out);
  expect(checks.filter(({ verdict }) => verdict === 'fail')).toMatchObject([
    {
      name: 'platform.tcp',
      message: expect.stringMatching(/^the proxy \S+ accepts no connection \(ECONNREFUSED\)/),
    },
  ]);
});

test('with the platform in NO_PROXY, the proxy is not asked', async () => {
  const { run, proxy } = await behindProxy({}, { NO_PROXY: 'other.test' });
  const checks = checksOf((await run('doctor', '--json')).out);
  // Whether this machine knows the name or not, it is looked up here.
  expect(checks.find(({ name }) => name === 'platform.dns')?.verdict).toMatch(/^(?:pass|fail)$/);
  expect(proxy.asked).toEqual([]);
});

test('a sandbox of this machine is reached without the proxy that Node is told to use', async () => {
  const main = join(packageRoot, 'dist', 'cli', 'main.js');
  const proxy = `http://127.0.0.1:${await freePort()}`;
  const trigger = spawn(process.execPath, [main, 'trigger', 'churn', '--changes', '1', '--url', world.url], {
    env: { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy },
  });
  let out = '';
  trigger.stdout.on('data', (piece) => {
    out += String(piece);
  });
  expect(await once(trigger, 'close')).toEqual([0, null]);
  expect(out).toMatch(/^inv_\w+\n$/);
});

test('a variable that names no proxy is a mistake that commands without the network do not care about', async () => {
  const { run } = await behindProxy({}, { https_proxy: 'socks5://ann:Zq7secret@127.0.0.1:1080' });
  const synced = await run('sync');
  expect([synced.code, synced.err]).toEqual([
    2,
    `error: https_proxy names a proxy for socks5, which rosterd cannot use
Try: Write it as http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, with %2F for a / and %23 for a # in the password, or remove it from the environment.
`,
  ]);
  expect((await run('query', 'SELECT 1 AS one')).code).toBe(0);
  const checks = checksOf((await run('doctor', '--json')).out);
  expect(checks.filter(({ verdict }) => verdict === 'fail')).toMatchObject([
    { name: 'config', message: expect.stringContaining('https_proxy names a proxy for socks5') as unknown },
  ]);
  expect((await run('support-bundle', 'bundle.json')).code).toBe(0);
});
