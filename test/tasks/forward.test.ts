import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { type ForwarderOptions, openForwarder } from '../../src/tasks/forward.js';
import { head, RawClient } from '../inbox/support/raw-http.js';

/** A forwarder that accepts one body, its local receiver, and the statuses that it answered. */
async function forwarder(limits: ForwarderOptions['limits']) {
  const local = createServer(
    (request, response) => void request.resume().on('end', () => response.end('got it')),
  );
  local.listen(0, '127.0.0.1');
  await once(local, 'listening');
  const statuses: (number | null)[] = [];
  const opened = await openForwarder({
    at: { host: '127.0.0.1', port: 0 },
    path: null,
    forwardTo: new URL(`http://127.0.0.1:${(local.address() as AddressInfo).port}/`),
    clock: systemClock,
    accepts: ({ body }) => body.toString() === 'genuine',
    onAnswer: (_, { status }) => void statuses.push(status),
    ...(limits === undefined ? {} : { limits }),
  });
  onTestFinished(async () => {
    await opened.close();
    local.close();
  });
  const clients: RawClient[] = [];
  onTestFinished(() => {
    for (const client of clients) client.cut();
  });
  return {
    statuses,
    stranger: (bytes: string | Buffer) => {
      const client = new RawClient(opened.port).send(bytes);
      clients.push(client);
      return client;
    },
    deliver: async () =>
      (await fetch(`http://127.0.0.1:${opened.port}/`, { method: 'POST', body: 'genuine' })).text(),
  };
}

test('bodies of strangers that are too large together end their connections, and a signed delivery is forwarded', async () => {
  const { stranger, deliver, statuses } = await forwarder({ bytes: 256 * 1024 });
  const unfinished = Buffer.concat([
    Buffer.from(head({ 'Content-Length': 128 * 1024 })),
    Buffer.alloc(96 * 1024),
  ]);
  const strangers = Array.from({ length: 8 }, () => stranger(unfinished));
  expect(await Promise.race(strangers.map(({ closed }) => closed))).toBe('');
  expect(await deliver()).toBe('got it');
  expect(statuses).toEqual([200]);
});

test('a connection of a stranger makes room for a new one when all are in use', async () => {
  const { stranger, deliver } = await forwarder({ connections: 4, perAddress: 4 });
  const first = stranger(head({ 'Content-Length': 10 }));
  const others = Array.from({ length: 4 }, () => stranger(head({ 'Content-Length': 10 })));
  expect(await Promise.race([first, ...others].map(({ closed }) => closed))).toBe('');
  expect(await deliver()).toBe('got it');
});

test('a body that is announced as too large is refused before it is sent', async () => {
  const { stranger } = await forwarder({});
  const asked = stranger(head({ 'Content-Length': 2 * 1024 * 1024, Expect: '100-continue' }));
  expect(await asked.closed).toMatch(/^HTTP\/1\.1 413 /);
});

test('a sender that waits for 100 Continue is told to go on', async () => {
  const { stranger } = await forwarder({});
  const asked = stranger(head({ 'Content-Length': 7, Expect: '100-continue', Connection: 'close' })).send(
    'genuine',
  );
  expect(await asked.closed).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
});
