import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { isOwnAddress } from '../../src/doctor/own-address.js';
import { portCheck } from '../../src/doctor/receiver-checks.js';
import { freePort } from '../support/free-port.js';

const own = Object.values(networkInterfaces())
  .flatMap((of) => of ?? [])
  .filter((one) => one.family === 'IPv4' || one.scopeid === 0)
  .map(({ address }) => address);

test.each(['203.0.113.9', '2001:db8::9'])(
  'doctor finds that nothing can listen on %s, which is an address of another machine',
  async (host) => {
    expect(await portCheck('receiver.port', 'receiver', { host, port: 8787 }, false)).toMatchObject({
      verdict: 'fail',
      message: `${host.includes(':') ? `[${host}]` : host}:8787 is no address of this machine`,
      mend: 'ip address; then receiver.listen in config.json',
    });
  },
);

test('doctor finds a free port on an address of this machine', async () => {
  const port = await freePort();
  expect(await portCheck('console.port', 'console', { host: '127.0.0.1', port }, false)).toMatchObject({
    verdict: 'pass',
    message: `127.0.0.1:${port} is free: no daemon runs on it`,
  });
});

test.each([
  [false, 'warn', /did not answer within 0\.05 s: the daemon is busy, or another program uses it$/],
  [true, 'fail', /is in use by another program$/],
])(
  'doctor takes a port that stays silent for one of a busy daemon, unless no daemon runs (none: %s)',
  async (isElsewhere, verdict, message) => {
    const silent = createServer((socket) => void socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => new Promise<void>((resolve) => silent.close(() => resolve())));
    const { port } = silent.address() as AddressInfo;
    const listen = { host: '127.0.0.1', port };
    expect(await portCheck('receiver.port', 'receiver', listen, isElsewhere, 50)).toMatchObject({
      verdict,
      message: expect.stringMatching(message),
    });
  },
);

test.each([...own, '127.0.0.9', '0.0.0.0', '::', '::ffff:127.0.0.1', 'localhost'])(
  '%s is an address of this machine',
  (host) => expect(isOwnAddress(host)).toBe(true),
);
