import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import type { AcceptedEvent } from '../../src/inbox/ports.js';
import { createReceiver, type Receiver, type ReceiverParts } from '../../src/inbox/receiver.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { closeReasons, networkOf } from '../../src/runtime/connection-table.js';
import { type LogFields, type Logger, silentLogger } from '../../src/runtime/logger.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { MemoryInbox } from './support/memory-inbox.js';
import { head, secret, signed } from './support/raw-http.js';

let inbox: MemoryInbox;
let receiver: Receiver;
let port: number;
const open: { close(): Promise<void> }[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(open.splice(0).map((one) => one.close()));
});

/** No connection is closed by a timeout, so only the connection limits decide. */
const patient = { headersMillis: 600_000, requestMillis: 600_000 };

async function build(limits: ReceiverParts['limits'] = {}, over: Partial<ReceiverParts> = {}) {
  inbox = new MemoryInbox();
  receiver = createReceiver({
    inbox,
    clock: systemClock,
    logger: silentLogger,
    path: '/webhooks',
    signatureHeader: 'Service-Signature',
    secrets: () => [secret],
    resolveSources: () => ['acme' as SourceName],
    onAccepted: () => {},
    limits: { ...patient, ...limits },
    ...over,
  });
  open.push(receiver);
  ({ port } = await receiver.listen(0));
}

class Client {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  readonly connected: Promise<unknown>;
  received = '';
  isClosed = false;

  constructor(from = '127.0.0.1') {
    this.socket = connect({ port, host: '127.0.0.1', localAddress: from });
    sockets.push(this.socket);
    this.socket
      .on('error', () => {})
      .on('data', (chunk) => {
        this.received += chunk.toString('latin1');
      });
    this.connected = once(this.socket, 'connect');
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.isClosed = true;
        resolve();
      });
    });
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes);
    return this;
  }

  /** Resolves with the response status, or 0 when the connection was closed without a response. */
  async status(): Promise<number> {
    while (!/\r\n\r\n/.test(this.received) && !this.isClosed)
      await Promise.race([once(this.socket, 'data').catch(() => {}), this.closed]);
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.received)?.[1] ?? 0);
  }
}

let number = 0;
function delivery(): string {
  number += 1;
  const body = JSON.stringify({
    id: `evt_c${number}`,
    event: 'investment.changed',
    installation: { id: 'inst_1' },
    data: { id: 'inv_1' },
  });
  const signature = signed(body, Math.floor(Date.now() / 1000));
  const fields = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  return head({ ...fields, 'Service-Signature': signature }) + body;
}

const ways: Readonly<Record<string, (client: Client) => void>> = {
  'are silent': () => {},
  'drip a header': (client) => client.send('POST /webhooks HTTP/1.1\r\nHost: a\r\nX-Slow: '),
  'drip a body': (client) =>
    client.send(`${head({ 'Content-Type': 'application/json', 'Content-Length': 500 })}{"id`),
};

/** Opened one after the other, so the order of waiting is known. */
async function strangers(count: number, way: (client: Client) => void = () => {}, from?: string) {
  const clients: Client[] = [];
  const arrived = () => counted().waiting + counted().closed.evicted;
  const before = arrived();
  for (let index = 0; index < count; index += 1) {
    const client = new Client(from);
    await client.connected;
    way(client);
    clients.push(client);
  }
  await expect.poll(arrived).toBe(before + count);
  return clients;
}

async function send(from?: string): Promise<number> {
  const client = new Client(from).send(delivery());
  const status = await client.status();
  client.socket.destroy();
  await client.closed;
  return status;
}

/** A clock that never advances. */
const untilAborted: Clock['wait'] = (_millis, signal) =>
  new Promise((resolve) => {
    signal?.addEventListener('abort', resolve);
  });

const counted = () => receiver.status().connections;
/** Waits until the server has noticed which clients disconnected. */
const openOnServer = (count: number) =>
  expect.poll(() => counted().waiting + counted().resting + counted().busy).toBe(count);

describe('receiver: a full connection table', () => {
  test.each(Object.entries(ways))(
    'clients that %s on every connection do not keep out a genuine delivery',
    async (_way, doing) => {
      await build({ connections: 8 });
      const clients = await strangers(8, doing);
      for (let turn = 0; turn < 12; turn += 1) {
        expect(await send()).toBe(202);
        await openOnServer(7);
        await strangers(1, doing).then(([client]) => client && clients.push(client));
      }
      expect(inbox.rows.length).toBe(12);
      // Each delivery evicted the client that had waited longest.
      expect(counted().closed).toMatchObject({ evicted: 12, refused: 0 });
      await Promise.all(clients.slice(0, 12).map((client) => client.closed));
      expect(clients.slice(12).filter(({ isClosed }) => isClosed)).toEqual([]);
    },
  );

  test('repeated health checks occupy no connection: theirs is closed', async () => {
    await build({ connections: 2 });
    const client = new Client().send('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n');
    expect(await client.status()).toBe(200);
    await client.closed;
    expect(client.received).toMatch(/connection: close/i);
    await openOnServer(0);
  });

  test('a burst of a thousand deliveries from one address is accepted completely while a thousand other clients are connected', async () => {
    await build();
    await Promise.all((await strangers(1000)).map(({ connected }) => connected));
    const clients = Array.from({ length: 1000 }, () => new Client().send(delivery()));
    const statuses = await Promise.all(clients.map((client) => client.status()));
    expect(statuses.filter((status) => status !== 202)).toEqual([]);
    expect(new Set(inbox.rows.map(({ eventId }) => eventId)).size).toBe(1000);
    expect(counted().closed).toMatchObject({ refused: 0 });
  });

  test('a burst larger than the free connections evicts clients that never delivered, and none of its own', async () => {
    await build({ connections: 300, perAddress: 150 });
    const idle = await strangers(300, undefined, '127.0.0.2');
    const clients = Array.from({ length: 290 }, () => new Client().send(delivery()));
    const statuses = await Promise.all(clients.map((client) => client.status()));
    expect(statuses.filter((status) => status !== 202)).toEqual([]);
    expect(idle.filter(({ isClosed }) => isClosed).length).toBe(counted().closed.evicted);
  });

  test('an address with more than its share loses its own connections, not older ones of other addresses', async () => {
    await build({ connections: 10, perAddress: 3 });
    const one = await strangers(3, undefined, '127.0.0.2');
    const other = await strangers(3, undefined, '127.0.0.3');
    const crowd = await strangers(20, undefined, '127.0.0.4');
    await Promise.all(crowd.slice(0, 16).map(({ closed }) => closed));
    expect([...one, ...other, ...crowd.slice(16)].filter(({ isClosed }) => isClosed)).toEqual([]);
    // A new connection from another address also evicts one of the largest group.
    await strangers(1, undefined, '127.0.0.5');
    await crowd[16]?.closed;
    expect([...one, ...other].filter(({ isClosed }) => isClosed)).toEqual([]);
  });

  test('an address that delivered before is evicted after those that never did', async () => {
    await build({ connections: 4 });
    expect(await send('127.0.0.2')).toBe(202);
    await openOnServer(0);
    const [known] = await strangers(1, undefined, '127.0.0.2');
    await strangers(3, undefined, '127.0.0.3');
    await strangers(8, undefined, '127.0.0.4');
    expect(known?.isClosed).toBe(false);
    expect(known && (await known.send(delivery()).status())).toBe(202);
  });

  test('a connection that delivered is kept alive and evicted after all waiting ones', async () => {
    await build({ connections: 4 });
    const proven = new Client().send(delivery());
    expect(await proven.status()).toBe(202);
    expect(proven.received).toMatch(/connection: keep-alive/i);
    await strangers(9, undefined, '127.0.0.2');
    expect(proven.isClosed).toBe(false);
    proven.received = '';
    expect(await proven.send(delivery()).status()).toBe(202);
    expect(counted().resting).toBe(1);
  });

  test('kept-alive connections fill a quarter of the table; the next response announces that it closes', async () => {
    await build({ connections: 8 });
    const clients: Client[] = [];
    for (let index = 0; index < 3; index += 1) {
      const client = new Client().send(delivery());
      expect(await client.status()).toBe(202);
      await expect.poll(() => counted().busy).toBe(0);
      clients.push(client);
    }
    await clients[2]?.closed;
    expect(clients.map(({ isClosed }) => isClosed)).toEqual([false, false, true]);
  });

  test('a connection whose delivery is being stored is never closed; a new one is, when no other is left', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    class Slow extends MemoryInbox {
      override async accept(event: AcceptedEvent) {
        await gate;
        return await super.accept(event);
      }
    }
    const slow = new Slow();
    await build({ connections: 5, acceptMillis: 600_000 }, { inbox: slow });
    const clients = Array.from({ length: 5 }, () => new Client().send(delivery()));
    await expect.poll(() => counted().busy).toBe(5);
    await new Client('127.0.0.2').closed;
    expect(counted().closed).toMatchObject({ evicted: 0, refused: 1 });
    go();
    expect(await Promise.all(clients.map((client) => client.status()))).toEqual([202, 202, 202, 202, 202]);
    expect(slow.rows.length).toBe(5);
  });
});

describe('receiver: the cost of a connection', () => {
  test('unfinished bodies take at most 32 MB; the oldest unknown clients are evicted, a genuine delivery is not', async () => {
    await build();
    const fields = { 'Content-Type': 'application/json', 'Content-Length': 65_536 };
    const clients = Array.from({ length: 540 }, () => new Client('127.0.0.2'));
    await Promise.all(clients.map(({ connected }) => connected));
    const body = head(fields) + 'x'.repeat(65_000);
    for (const client of clients) client.send(body);
    await expect.poll(() => counted().closed.memory).toBeGreaterThanOrEqual(20);
    await expect.poll(() => counted().bytes / (1024 * 1024)).toBeCloseTo(32, 0);
    expect(await send()).toBe(202);
    for (const client of clients) client.socket.destroy();
    await openOnServer(0);
    expect(counted().bytes).toBe(0);
  });

  test('a body in one-byte chunks takes at most twice its size in memory', async () => {
    await build();
    const pieces = 30_000;
    const client = new Client().send(
      head({ 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }) +
        '1\r\nx\r\n'.repeat(pieces),
    );
    await expect.poll(() => counted().bytes).toBeGreaterThanOrEqual(pieces);
    expect(counted().bytes).toBeLessThanOrEqual(2 * pieces);
    expect(client.isClosed).toBe(false);
  });

  test('thousands of pipelined requests close their connection before the seventeenth is handled', async () => {
    await build();
    const client = new Client().send('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3000));
    await client.closed;
    expect(receiver.status().results.not_found).toBeLessThanOrEqual(16);
    expect(counted().closed.pipelined).toBe(1);
    expect(await send()).toBe(202);
  });

  test('a complete request that waited for a blocked event loop is answered, an incomplete one is cut off', async () => {
    await build({ headersMillis: 1000, requestMillis: 1500, checkEveryMillis: 10 });
    const whole: Client[] = [];
    for (let count = 0; count < 3; count += 1) {
      const client = new Client();
      await client.connected;
      whole.push(client);
    }
    await expect.poll(() => counted().waiting).toBe(3);
    for (const client of whole) client.send(delivery());
    // The bytes are in the kernel, and every timeout has passed before the server can read them.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1250);
    expect(await Promise.all(whole.map((client) => client.status()))).toEqual(whole.map(() => 202));
    const [slow] = await strangers(1, ways['drip a header']);
    expect(await slow?.status()).toBe(408);
    expect(counted().closed.timed_out).toBeGreaterThanOrEqual(1);
  });

  test('silent clients do not delay the close of a receiver', async () => {
    await build({}, { clock: { ...systemClock, wait: untilAborted } });
    const clients = await strangers(5);
    await receiver.close();
    await Promise.all(clients.map(({ closed }) => closed));
  });
});

test('closed connections are counted by reason and logged once a minute, without their addresses', async () => {
  const logged: [LogFields, string][] = [];
  const logger: Logger = { ...silentLogger, warn: (fields, message) => logged.push([fields, message]) };
  const clock = new VirtualClock();
  await build({ connections: 2 }, { clock, logger });
  await strangers(2);
  for (let evicted = 0; evicted < 5; evicted += 1) {
    await new Client().connected;
    await expect.poll(() => counted().closed.evicted).toBe(evicted + 1);
  }
  const rubbish = new Client().send('rubbish\r\n\r\n');
  expect(await rubbish.status()).toBe(400);
  expect(logged.map(([{ count, code }]) => [count, code])).toEqual([[1, 'evicted']]);
  await clock.advance(59_999);
  expect(logged.length).toBe(1);
  await clock.advance(1);
  await settled();
  expect(logged.map(([{ count, code }]) => [count, code])[1]).toEqual([6, 'evicted,unreadable']);
  await clock.advance(600_000);
  expect(logged.length).toBe(2);
  expect(JSON.stringify(logged)).not.toContain('127.0.0');
  expect(Object.keys(counted().closed)).toEqual([...closeReasons]);
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:DB8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::9', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['', ''],
])('address %s is counted under %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
