import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import { createReceiver } from '../../src/inbox/receiver.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { sqliteInbox } from '../../src/store/inbox.js';
import { freshMirror } from '../store/support/mirror.js';
import { head, RawClient, secret, signed } from './support/raw-http.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const now = () => Math.floor(Date.now() / 1000);
const event = (id: string, more = {}) =>
  JSON.stringify({
    id,
    event: 'investment.changed',
    created_at: '2026-10-20T09:30:00Z',
    mode: 'live',
    installation: { id: 'inst_1' },
    data: { id: 'inv_1', visible: true, company: 'co_1', observed_at: '2026-10-20T09:29:58Z' },
    ...more,
  });
const bomb = gzipSync(Buffer.alloc(1_000_000));
const deep = `{"id":"evt_x","data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
const large = 'x'.repeat(70_000);

type Attack = (turn: number) => {
  readonly body: string | Buffer;
  readonly signature: string | null;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Each attack with the status of its response. The correctly signed ones come from a stolen secret or a bug. */
const attacks: readonly (readonly [number, Attack])[] = [
  [401, (turn) => ({ body: event(`evt_${turn}`), signature: null })],
  [
    401,
    (turn) => ({ body: event(`evt_${turn}`), signature: signed(event(`evt_${turn}`), now(), 'whsec_guess') }),
  ],
  [401, (turn) => ({ body: event(`evt_${turn}`), signature: signed(event('evt_0'), now()) })],
  [
    401,
    (turn) => ({ body: event(`evt_${turn}`), signature: signed(event(`evt_${turn}`), now() - 301 - turn) }),
  ],
  [401, () => ({ body: event('evt_1'), signature: `t=${now()},${'v1=00,'.repeat(500)}v1=00` })],
  [413, () => ({ body: large, signature: signed(large, now()) })],
  [415, () => ({ body: bomb, signature: signed(bomb, now()), headers: { 'content-encoding': 'gzip' } })],
  [400, () => ({ body: deep, signature: signed(deep, now()) })],
  [
    400,
    () => ({ body: '{"__proto__":{"id":1},"id":', signature: signed('{"__proto__":{"id":1},"id":', now()) }),
  ],
  [400, (turn) => ({ body: `[${turn}]`, signature: signed(`[${turn}]`, now()) })],
];

test('receiver: thousands of hostile requests store nothing, start no tick and leave memory flat', async () => {
  const mirror = freshMirror();
  const accepting = openSqlite(mirror.file);
  onTestFinished(() => accepting.close());
  const nudged: SourceName[][] = [];
  const receiver = createReceiver({
    inbox: sqliteInbox(accepting),
    clock: systemClock,
    logger: silentLogger,
    path: '/webhooks',
    signatureHeader: 'Service-Signature',
    secrets: () => [secret, 'whsec_other'],
    resolveSources: () => ['acme' as SourceName],
    onAccepted: (_event, sources) => nudged.push([...sources]),
    limits: { requestMillis: 5_000, checkEveryMillis: 50 },
  });
  onTestFinished(() => receiver.close());
  const { port } = await receiver.listen(0);
  const send = async ({ body, signature, headers = {} }: ReturnType<Attack>) => {
    const response = await fetch(`http://127.0.0.1:${port}/webhooks`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(signature === null ? {} : { 'service-signature': signature }),
        ...headers,
      },
      body,
    });
    await response.arrayBuffer();
    return response.status;
  };
  const rows = () => mirror.raw.prepare('SELECT count(*) FROM webhook_inbox').pluck().get();

  const hold = async (requests: number) => {
    for (let from = 0; from < requests; from += 50) {
      const wave = Array.from({ length: 50 }, (_, index) => {
        const [status, attack] = attacks[index % attacks.length] ?? [
          0,
          () => ({ body: '', signature: null }),
        ];
        return send(attack(from + index)).then((answered) => [answered, status]);
      });
      for (const [answered, status] of await Promise.all(wave)) expect(answered).toBe(status);
    }
    collect();
    return process.memoryUsage().heapUsed;
  };
  const drips = Array.from({ length: 20 }, () =>
    new RawClient(port).send(`${head({ 'Content-Type': 'application/json', 'Content-Length': 400 })}{"id`),
  );
  await hold(300);
  const before = await hold(200);
  const after = await hold(1_500);
  // After fifteen hundred bodies of tens of kilobytes, only counters remain of a request.
  expect(after - before).toBeLessThan(8 * 1024 * 1024);
  expect(rows()).toBe(0);
  expect(nudged).toEqual([]);
  for (const drip of drips) expect(await drip.closed).toMatch(/^(HTTP\/1\.1 408 |$)/);

  // A genuine delivery sent a hundred times is stored once.
  const genuine = event('evt_real');
  const signature = signed(genuine, now());
  const answers = await Promise.all(Array.from({ length: 100 }, () => send({ body: genuine, signature })));
  expect(new Set(answers)).toEqual(new Set([202]));
  expect(rows()).toBe(1);
  const { results } = receiver.status();
  expect(results).toMatchObject({ accepted: 1, duplicate: 99, too_large: 200, unsupported_encoding: 200 });
  expect(results.defect + results.unavailable).toBe(0);
});
