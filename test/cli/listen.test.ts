import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { company, type RunningPlatform, startPlatform, user } from '../conformance/running-platform.js';
import { type Receiver, startReceiver } from '../platform/webhooks/receiver.js';
import { freePort } from '../support/free-port.js';
import { type Desk, desk } from './connect-session.js';
import { rosterd } from './fake-io.js';
import { type ListenSession, listenProcess, listenSession, signatureOf } from './listen-session.js';

let world: RunningPlatform;
let receiver: Receiver;
const sessions = new Set<ListenSession>();
beforeAll(async () => {
  world = await startPlatform({ clock: systemClock });
});
afterAll(() => world.close());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const session of sessions) await session.stop();
  sessions.clear();
  await receiver.close();
});

/** Runs the command until its test ends. */
function listening(args: readonly string[], ioOf = desk().io): ListenSession {
  const session = listenSession(['--forward-to', receiver.url, ...args], ioOf, world.url);
  sessions.add(session);
  return session;
}

const invest = () => world.control('POST', '/investments', { company: company(world).id });
const endpoints = () =>
  world.services.state
    .prepare('SELECT id FROM webhook_endpoints WHERE removed_at IS NULL')
    .pluck()
    .all() as string[];
const changed = ['--events', 'investment.changed'];

test('listen forwards a delivery byte-exact, and the receiver verifies it with the printed secret', async () => {
  const session = listening(changed);
  const [, secret = ''] = await session.shows(/^secret: (whsec_\S+)$/m);
  await invest();
  const [got] = await receiver.count(1);
  const stored = world.services.state
    .prepare('SELECT body FROM webhook_deliveries WHERE event_id = ?')
    .pluck()
    .get(got?.envelope.id);
  expect(got?.body).toBe(stored);
  expect(got?.headers['service-signature']).toBe(signatureOf(secret, got));
  expect(got?.headers['content-type']).toBe('application/json');
  expect(got?.headers.host).toBe(new URL(receiver.url).host);
  await session.shows(
    new RegExp(`^\\d\\d:\\d\\d:\\d\\d  investment\\.changed +${got?.envelope.id} +200  \\d+ ms$`, 'm'),
  );
});

test('listen --json prints one object a line with ids only, and the status of the local answer', async () => {
  const session = listening(['--json']);
  const start = JSON.parse((await session.shows(/^\{.*\}$/m))[0]);
  expect(start).toEqual({
    type: 'listening',
    endpoint: endpoints()[0],
    forwardTo: receiver.url,
    secret: expect.stringMatching(/^whsec_/),
  });
  receiver.answer(503);
  await invest();
  await session.shows(/(?:.*\n){3}/);
  const [, ...deliveries] = session.io
    .out()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { envelope } = receiver.received.find((it) => it.envelope.event === 'investment.created') ?? {};
  expect(deliveries).toContainEqual({
    type: 'delivery',
    at: expect.any(String),
    event: 'investment.created',
    id: envelope.id,
    ...{
      installation: envelope.installation.id,
      status: 503,
      error: null,
      ms: expect.any(Number),
      resent: false,
    },
  });
  // The event has a name; neither stream shows it.
  expect(envelope.data.investor.name).toEqual(expect.any(String));
  expect(session.io.out() + session.io.err()).not.toContain(envelope.data.investor.name);
});

test('listen: the sandbox records the local answer', async () => {
  const session = listening(changed);
  const [, id] = await session.shows(/^endpoint: (whe_\w+)$/m);
  receiver.answer(418);
  await invest();
  await session.shows(/ {2}418 {2}/);
  const attempt = async () =>
    (await world.control('GET', `/deliveries?endpoint=${id}`)).body.data[0].attempts[0]?.status ?? '';
  let status = '';
  for (let tries = 0; tries < 200 && status === ''; tries += 1) status = await attempt();
  expect(status).toBe(418);
});

test('listen shows a receiver that is not there as connection_failed', async () => {
  const gone = await startReceiver();
  await gone.close();
  const session = listening(['--forward-to', gone.url, ...changed]);
  await session.shows(/^secret: /m);
  await invest();
  await session.shows(/investment\.changed .* connection_failed/);
});

test('r and Enter makes the sandbox resend the last delivery: same bytes, signed again', async () => {
  const session = listening(changed);
  await session.shows(/^secret: /m);
  session.type('r\n');
  await session.shows(/no delivery to resend yet/, () => session.io.err());
  await invest();
  await session.shows(/investment\.changed/);
  session.type('r\n');
  const [first, second] = await receiver.count(2);
  expect(second?.body).toBe(first?.body);
  await session.shows(/ms {2}resent$/m);
  session.type('R\n');
  expect(await receiver.count(3)).toHaveLength(3);
});

test('Ctrl-C ends listen with 0 and removes its endpoint', async () => {
  const session = listening(changed);
  const [, id] = await session.shows(/^endpoint: (whe_\w+)$/m);
  expect(endpoints()).toEqual([id]);
  expect(await session.stop()).toMatchObject({ code: 0 });
  expect(endpoints()).toEqual([]);
});

test('listen registers again with the same secret after a reset of the sandbox', async () => {
  const session = listening(changed);
  const [, secret = ''] = await session.shows(/^secret: (whsec_\S+)$/m);
  await world.control('POST', '/reset');
  await session.shows(/the sandbox was reset; whe_\w+ is registered/, () => session.io.err());
  await invest();
  const [got] = await receiver.count(1);
  expect(got?.headers['service-signature']).toBe(signatureOf(secret, got));
});

test('listen waits for a sandbox that is gone, and still ends with 0', async () => {
  const other = await startPlatform({ clock: systemClock });
  const session = listening(['--url', other.url]);
  await session.shows(/^secret: /m);
  await other.close();
  await session.shows(/the sandbox does not respond; waiting for it/, () => session.io.err());
  expect(await session.stop()).toMatchObject({ code: 0 });
});

test('listen rejects wrong arguments before it registers anything', async () => {
  const run = async (args: string[], env: Record<string, string> = { ROSTERD_SANDBOX: world.url }) => {
    const { code, err } = await rosterd(['listen', ...args], desk().io({ env }));
    expect(code).toBe(2);
    return err;
  };
  const to = ['--forward-to', receiver.url];
  expect(await run([])).toContain('--forward-to is missing');
  for (const url of ['localhost', 'ftp://localhost/', 'http://me:secret@localhost/'])
    expect(await run(['--forward-to', url])).toMatch(/^error: --forward-to is (?!.*secret)/);
  expect(await run([...to, '--events', 'investment.changed,investment.chnaged'])).toContain(
    'investment.chnaged',
  );
  for (const [option, value] of [
    ['--listen', '1'],
    ['--listen', '127.0.0.1:8788'],
    ['--mode', 'live'],
    ['--source', 'acme'],
  ] as const)
    expect(await run([...to, option, value])).toMatch(
      new RegExp(`^error: ${option} has no effect without --public-url\nTry: leave it out for a sandbox`),
    );
  expect(await run([...to, '--url', 'http://127.0.0.1:9', '--public-url', 'https://a.example'])).toContain(
    '--url and --public-url: give one of them',
  );
  expect(await run(to, { ROSTERD_SANDBOX: 'https://sandbox.example.com' })).toContain(
    'only to its own machine',
  );
  expect(await run([...to, '--set', 'platform.baseUrl=https://api.example.com'], {})).toMatch(
    /^error: the platform at https:\/\/api\.example\.com delivers only to public HTTPS addresses, not to this machine\nTry: .*rosterd sandbox/,
  );
  expect(endpoints()).toEqual([]);
});

test('listen without a sandbox fails with the next step', async () => {
  const io = desk().io({ env: { ROSTERD_SANDBOX: 'http://127.0.0.1:9' } });
  const { code, err } = await rosterd(['listen', '--forward-to', receiver.url], io);
  expect([code, err]).toEqual([1, expect.stringContaining('start one with `rosterd sandbox`')]);
});

test('listen as a process forwards, resends what is typed and ends at SIGINT', async () => {
  const running = listenProcess(['--forward-to', receiver.url, ...changed], world.url);
  await running.shows(/^secret: /m);
  await invest();
  await running.shows(/investment\.changed/);
  running.type('r\n');
  await running.shows(/resent/);
  expect(await running.kill('SIGINT')).toEqual([0, null]);
  expect(endpoints()).toEqual([]);
});

test.skipIf(process.platform === 'win32')(
  'listen as a process removes its endpoint at SIGHUP, as when its terminal closes',
  async () => {
    const running = listenProcess(['--forward-to', receiver.url], world.url);
    await running.shows(/^secret: /m);
    expect(await running.kill('SIGHUP')).toEqual([0, null]);
    expect(endpoints()).toEqual([]);
  },
);

/** Returns the streams of a folder whose configuration may manage endpoints of the platform. */
function managing(): Desk['io'] {
  const { write, io } = desk();
  write('manager.token', user(world).liveToken, 0o600);
  const management = { token: { file: 'manager.token' } };
  write('config.json', JSON.stringify({ platform: { baseUrl: world.url, management } }));
  return io;
}

test('listen --public-url creates an endpoint of the platform, forwards signed deliveries only and deletes it', async () => {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}/from-the-tunnel`;
  const ioOf = managing();
  const args = ['--public-url', publicUrl, '--listen', `127.0.0.1:${port}`];
  const session = listening(args, ioOf);
  const [, secret = ''] = await session.shows(/^secret: (whsec_\S+)$/m);
  expect(endpoints()).toHaveLength(1);

  const forged = { 'content-type': 'application/json', 'service-signature': 't=1,v1=00' };
  expect((await fetch(publicUrl, { method: 'POST', headers: forged, body: '{}' })).status).toBe(401);
  expect((await fetch(publicUrl)).status).toBe(404);
  await invest();
  await session.shows(/investment\.changed .* 200 /);
  session.type('r\n');
  await session.shows(/ms {2}resent$/m);
  const [first, again, ...more] = receiver.received;
  expect([more, again?.body]).toEqual([[], first?.body]);
  expect(again?.headers['service-signature']).toBe(signatureOf(secret, again));

  expect(await session.stop()).toMatchObject({ code: 0 });
  expect(endpoints()).toEqual([]);
});

test('listen --public-url passes on that the platform refuses the address, and leaves nothing behind', async () => {
  const ioOf = managing();
  const at = ['--listen', `127.0.0.1:${await freePort()}`];
  const run = (...args: string[]) =>
    rosterd(['listen', '--forward-to', receiver.url, ...at, ...args], ioOf());
  const refused = await run('--public-url', 'http://receiver.internal/');
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('answered 422')]);
  const clear = await rosterd(
    ['listen', '--forward-to', 'http://receiver.example.com/', '--public-url', 'https://tunnel.example.com/'],
    ioOf(),
  );
  expect([clear.code, clear.err]).toEqual([
    2,
    expect.stringContaining('must be on this machine or https://'),
  ]);
  expect((await run('--public-url', 'https://tunnel.example.com/', '--listen', 'here')).code).toBe(2);
  expect(endpoints()).toEqual([]);
});
