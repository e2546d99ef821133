import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../src/runtime/random.js';
import { freePort } from '../support/free-port.js';
import { type ChangeRow, FeedHistory, judgeInbox, judgeWorked } from './history.js';
import { judgeAccepted, judgePace, judgeReaders, type NoticeSeen } from './network/check.js';
import { openLoopback } from './network/loopback.js';
import { Cuts } from './network/network.js';
import { type Database, type FaultKind, planFaults } from './network/plan.js';
import { calm, effectOn, Forward } from './network/proxy.js';

const row = (seq: number, id = `inv_${seq}`): ChangeRow => ({
  ...{ seq, source: 'c0', id, kind: 'changed', fields: '["status"]', reason: 'changed', at: `at ${seq}` },
});
const feed = [row(1), row(2), row(3)];
const judged = (...read: readonly ChangeRow[]) => judgeReaders(new Map([['x', read]]), feed);

test('the judge of readers accepts the whole feed in order, and names a gap, a late number and another change', () => {
  expect(judged(row(1), row(2), row(3), row(4))).toEqual([]);
  expect(judged(row(1), { ...row(2), fields: ['status'] }, row(3))).toEqual([]);
  expect(judged(row(1), row(3))).toEqual(['x read 3 where 2 follows']);
  expect(judged(row(1), row(3), row(2))).toEqual([
    'x has read to 2 of 3',
    'x read 3 where 2 follows',
    'x read 2 where 4 follows',
  ]);
  expect(judged(row(1), row(2, 'inv_9'), row(3))).toEqual(['x read another entry under 2']);
  expect(judged(row(1))).toEqual(['x has read to 1 of 3']);
  expect(judgeReaders(new Map(), [row(2), row(4)])).toEqual([
    'the feed begins with 2',
    'the end read 4 where 3 follows',
  ]);
});

test('the judge of the inbox names deliveries that were lost, that nobody sent and that were not worked', () => {
  const sent = { accepted: ['e1', 'e2', 'e3'], sent: ['e1', 'e2', 'e3', 'e4'] };
  const rows = ['e1', 'e3', 'e4', 'e5'].map((event_id) => ({
    event_id,
    state: event_id === 'e1' ? 'worked' : 'pending',
  }));
  expect(judgeInbox(sent, rows)).toEqual(['lost: e2', 'never accepted: e5']);
  expect(judgeWorked(sent, rows)).toEqual(['pending in the end: e3']);
});

test('the judge of the inbox leaves a delivery time that was accepted after the last look for pending ones', async () => {
  const states = new Map([['e1', 'worked']]);
  const judged = async (late: string) => {
    const accepted = [...states.keys()].map((id) => ({ id, at: 0 }));
    return await judgeAccepted(
      {
        promotions: [],
        lines: <Line>() => [...accepted] as Line[],
        rows: async <Row extends object>(sql: string) => {
          // A repetition arrives just after that look.
          if (sql.startsWith('SELECT 1')) accepted.push({ id: 'e2', at: 1 });
          else states.set('e2', late);
          const stored = [...states].map(([event_id, state]) => ({ event_id, state }));
          return (sql.startsWith('SELECT 1') ? [] : stored) as Row[];
        },
      },
      false,
    );
  };
  expect(await judged('pending')).toEqual([]);
  // Now it was accepted before that look.
  expect(await judged('pending')).toEqual(['the inbox: pending in the end: e2']);
});

test('the judge of a feed that is read while it grows names a number that became visible late', async () => {
  const history = new FeedHistory();
  const reads = (...rows: readonly ChangeRow[]) => history.read('one', async () => rows);
  await reads(row(1));
  await reads(row(3));
  expect(history.judge(feed)).toEqual(['one read 3 where 2 follows']);
});

test('the judge of notices reports two within a minute if the result of the first was stored, and no repetition', () => {
  const notice = (message: string, second: number): NoticeSeen => ({
    ...{ at: second * 1_000, sentAt: second, message, source: 'c0', id: 'inv_1', seq: 1, after: null },
  });
  const stored = [{ source: 'c0', id: 'inv_1', at: 1_000 }];
  expect(judgePace([notice('m1', 1), notice('m2', 30)], stored)).toEqual([
    'two notices about inv_1 within 29 s',
  ]);
  expect(judgePace([notice('m1', 1), notice('m2', 61)], stored)).toEqual([]);
  expect(judgePace([notice('m1', 1), notice('m1', 30)], stored)).toEqual([]);
  expect(judgePace([notice('m1', 1), notice('m1', 9), notice('m2', 61)], stored)).toEqual([]);
  expect(judgePace([notice('m1', 9), notice('m1', 1), notice('m2', 50)], stored)).toEqual([
    'two notices about inv_1 within 49 s',
  ]);
  expect(judgePace([notice('m1', 1), notice('m2', 30)], [])).toEqual([]);
  // The clock was set back before the result of the first was stored, as the notice about another record shows.
  const later = [{ source: 'c0', id: 'inv_1', at: 14_000 }];
  const elsewhere = { ...notice('m3', 15), id: 'inv_2', sentAt: 4 };
  expect(judgePace([notice('m1', 14), notice('m2', 65)], later)).toHaveLength(1);
  expect(judgePace([notice('m1', 14), elsewhere, notice('m2', 65)], later)).toEqual([]);
});

test('the plan of faults follows from its seed alone, and every kind occurs', () => {
  expect(planFaults(7, 50, 1_000)).toEqual(planFaults(7, 50, 1_000));
  expect(planFaults(7, 50, 1_000)).not.toEqual(planFaults(8, 50, 1_000));
  const kinds = new Set<FaultKind>(planFaults(7, 1_000, 1_000).map(({ fault }) => fault.kind));
  expect(kinds.size).toBe(13);
});

test('the weather of the proxy holds, cuts and resets pieces of a stream as its seed says', () => {
  const effects = (weather: object) => {
    const random = seededRandom(3);
    return Array.from({ length: 200 }, () => effectOn({ ...calm, ...weather }, 1_000, 0.5, random));
  };
  expect(new Set(effects({}).map((effect) => JSON.stringify(effect))).size).toBe(1);
  expect(effects({ lossShare: 0.2 })).toEqual(effects({ lossShare: 0.2 }));
  expect(effects({ bytesPerSecond: 500 })[0]?.holdMillis).toBe(2_000);
  expect(effects({ reorderMillis: 100 })[0]?.holdMillis).toBe(50);
  expect(
    effects({ truncateShare: 0.2 }).filter(({ endsAfter }) => endsAfter !== null).length,
  ).toBeGreaterThan(20);
  expect(
    effects({ resetShare: 1 }).every(({ how, endsAfter }) => how === 'reset' && endsAfter !== null),
  ).toBe(true);
});

test('a direction that the proxy drops holds bytes and the end of the connection back until it is whole again', async () => {
  const received: string[] = [];
  const server = createServer((socket) => {
    socket
      .setEncoding('utf8')
      .on('data', (text: string) => received.push(text))
      .on('error', () => {});
    socket.on('end', () => received.push('end'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const from = { host: '127.0.0.1', port: await freePort() };
  const forward = new Forward(from, { host: '127.0.0.1', port: (server.address() as AddressInfo).port }, 1);
  await forward.listen();
  onTestFinished(() => {
    forward.close();
    server.close();
  });
  const client = connect(from);
  client.on('error', () => {});
  client.write('one');
  await expect.poll(() => received).toEqual(['one']);
  forward.drop('there', true);
  client.end('two');
  // Another connection passes all that time, through a proxy of the same kind.
  const other = new Forward({ ...from, port: await freePort() }, forward.to, 2);
  await other.listen();
  onTestFinished(() => other.close());
  const witness = connect(other.from);
  witness.end('three');
  await expect.poll(() => received).toEqual(['one', 'three', 'end']);
  forward.drop('there', false);
  await expect.poll(() => received).toEqual(['one', 'three', 'end', 'two', 'end']);
});

test('a proxy that abandons requests resets the connection to the server when its client goes away', async () => {
  const seen: string[] = [];
  const server = createServer((socket) => {
    socket
      .setEncoding('utf8')
      .on('data', (text: string) => seen.push(text))
      .on('end', () => seen.push('end'))
      .on('error', (error: NodeJS.ErrnoException) => seen.push(error.code ?? ''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const from = { host: '127.0.0.1', port: await freePort() };
  const to = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  const forward = new Forward(from, to, 1, true);
  await forward.listen();
  onTestFinished(() => {
    forward.close();
    server.close();
  });
  const client = connect(from);
  client.write('one');
  await expect.poll(() => seen).toEqual(['one']);
  client.destroy();
  await expect.poll(() => seen).toEqual(['one', 'ECONNRESET']);
});

test('on the loopback, a cut and a lost host drop the forwards between their hosts, and a promotion moves them', async () => {
  const dropped = new Set<string>();
  let primary: Database = 'd1';
  const network = await openLoopback({
    primary: () => primary,
    drop: (host, forward, direction, isDropped) => {
      const name = `${host}: ${forward} ${direction}`;
      if (isDropped) dropped.add(name);
      else dropped.delete(name);
    },
  });
  const cuts = new Cuts(network);
  const seen = () => [...dropped].sort();
  await cuts.cut('a', 'd1', 'back', true);
  expect(seen()).toEqual(['a: database back']);
  await network.vanish('x', 'unplugged', true);
  expect(seen()).toEqual(['a: database back', 'x: database back', 'x: database there']);
  // The new primary is another host, which a can reach.
  primary = 'd2';
  network.apply();
  expect(seen()).toEqual(['x: database back', 'x: database there']);
  await network.vanish('x', 'unplugged', false);
  await cuts.cut('p', 'b', 'both', true);
  expect(seen()).toEqual(
    ['b: notice receiver', 'b: platform', 'p: b'].flatMap((name) => [`${name} back`, `${name} there`]),
  );
  // The end of one of two cuts does not end the other.
  await cuts.cut('p', 'b', 'there', true);
  await cuts.cut('p', 'b', 'both', false);
  expect(seen()).toEqual(['b: notice receiver back', 'b: platform back', 'p: b there']);
  await cuts.cut('p', 'b', 'there', false);
  expect(seen()).toEqual([]);
  const ports = ['wire a', 'wire b', 'platform'] as const;
  expect(new Set(ports.map((service) => network.address('p', service).port)).size).toBe(3);
});
