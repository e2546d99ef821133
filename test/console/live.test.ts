import { once } from 'node:events';
import { createServer, get, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import express, { type Response } from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { admit } from '../../src/console/guard/admit.js';
import { Sessions } from '../../src/console/guard/sessions.js';
import { createLive, type LiveParts } from '../../src/console/live.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { testRandom } from '../support/chance.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** More than the sockets hold between a server and a client that does not read. */
const large = 20_000_000;

/** Serves a live view. `served` returns the response that the server is sending. */
async function serving(parts: Pick<LiveParts, 'look' | 'onChange' | 'clock'>) {
  const live = createLive({ ...parts, logger: silentLogger });
  let served: Response | undefined;
  const app = express();
  app.use(admit({ sessions: new Sessions(parts.clock, testRandom()), authenticator: null }));
  app.get('/', (request, response, next) => {
    served = response;
    return live.stream(request, response, next);
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    await live.close();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, served: () => served };
}

/** Serves a view that shows nothing. `looks`: how often it was looked at. */
async function servingEmpty(clock: VirtualClock) {
  let looks = 0;
  const look = async () => {
    looks += 1;
    return { fragment: '', mark: '' };
  };
  return { ...(await serving({ look, onChange: () => () => {}, clock })), looks: () => looks };
}

test('a client that takes no events has one of them in memory, and gets the newest one when it goes on', async () => {
  const clock = new VirtualClock();
  let looks = 0;
  let nudge = () => {};
  const { port, served } = await serving({
    look: async () => {
      looks += 1;
      return { fragment: `look ${looks} `.padEnd(large, 'x'), mark: String(looks) };
    },
    onChange: (listener) => {
      nudge = listener;
      return () => {};
    },
    clock,
  });
  const [page] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage];
  onTestFinished(() => void page.destroy());
  const another = async () => {
    const before = looks;
    nudge();
    while (looks === before) await clock.advance(500);
    await clock.advance(0);
  };
  while (looks === 0) await clock.advance(0);
  for (let more = 0; more < 4; more += 1) await another();
  expect(served()?.writableLength).toBeLessThan(2 * large);

  const seen = new Set<number>();
  let end = '';
  page.setEncoding('utf8').on('data', (text: string) => {
    for (const [, look] of `${end}${text}`.matchAll(/look (\d+) /g)) seen.add(Number(look));
    end = text.slice(-20);
  });
  while (served()?.writableNeedDrain === true) await once(served() as Response, 'drain');
  await another();
  while (!seen.has(looks)) await once(page, 'data');
  expect([...seen]).toEqual([1, looks]);
});

test('a view is not looked at again once its last page is closed', async () => {
  const clock = new VirtualClock();
  const { port, served, looks } = await servingEmpty(clock);
  const [page] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage];
  while (looks() === 0) await clock.advance(0);
  const closed = new Promise((resolve) => served()?.req.once('close', resolve));
  page.destroy();
  await closed;
  await clock.advance(60_000);
  expect(looks()).toBe(1);
});

test('HEAD returns the headers of the stream and ends', async () => {
  const { port, served, looks } = await servingEmpty(new VirtualClock());
  const asked = request({ port, method: 'HEAD', agent: false }).end();
  const [head] = (await once(asked, 'response')) as [IncomingMessage];
  expect(head.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  expect([served()?.writableEnded, looks()]).toEqual([true, 0]);
});

test('a view keeps only what it sends in memory, however often it looks', async () => {
  const clock = new VirtualClock();
  const seen: WeakRef<object>[] = [];
  let nudge = () => {};
  const { port } = await serving({
    look: async () => {
      const content = { fragment: 'the same', mark: 'same' };
      seen.push(new WeakRef(content));
      return content;
    },
    onChange: (listener) => {
      nudge = listener;
      return () => {};
    },
    clock,
  });
  const [page] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage];
  onTestFinished(() => void page.destroy());
  while (seen.length < 30) {
    nudge();
    await clock.advance(500);
  }
  collect();
  expect(seen.filter((one) => one.deref() !== undefined).length).toBeLessThan(3);
});

test('a view closes although the look that is under way does not end', async () => {
  const clock = new VirtualClock();
  let looks = 0;
  const live = createLive({
    look: () => {
      looks += 1;
      return new Promise(() => {});
    },
    onChange: () => () => {},
    clock,
    logger: silentLogger,
  });
  const app = express();
  app.use(admit({ sessions: new Sessions(clock, testRandom()), authenticator: null }));
  app.get('/', live.stream);
  const server = createServer(app).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [page] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage];
  onTestFinished(() => void page.destroy());
  await expect.poll(() => looks).toBe(1);
  await live.close();
});
