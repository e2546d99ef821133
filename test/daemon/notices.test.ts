import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { configFromObject } from '../../src/config/from-object.js';
import { Secret } from '../../src/config/secrets.js';
import type { Engine, EngineParts } from '../../src/daemon/engine.js';
import { noticeTargets } from '../../src/daemon/notices.js';
import { deliverNotices } from '../../src/daemon/start-outbox.js';
import { alone } from '../../src/fleet/membership.js';
import type { Sent } from '../../src/outbox/ports.js';
import { Lifecycle } from '../../src/runtime/lifecycle.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { seededRandom } from '../../src/runtime/random.js';
import type { TickListener } from '../../src/sync/sync.js';
import { startProxy } from '../client/fetch/proxy-server.js';
import { dueNotice } from '../outbox/samples.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const never = new AbortController().signal;

test('notices: receivers of one host that hang do not keep another one of that host from its notice', async () => {
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/works') response.writeHead(204).end();
    else held.push(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const secret = new Secret('secret', 'a-secret-for-signing' as never, { env: {}, folder: '/' });
  const notices = ['hangs', 'hangs-too', 'works'].map((name) => ({
    ...{ kind: 'http', name, url: `http://127.0.0.1:${port}/${name}`, secret, about: ['changes'], rules: {} },
  }));
  const { targets, close } = noticeTargets({ notices, proxy: {} } as unknown as Config, new VirtualClock());
  onTestFinished(async () => {
    await close();
    server.closeAllConnections();
    server.close();
  });
  const ended: Sent[] = [];
  const send = async (target: string) => {
    const sent = await targets.get(target)?.(dueNotice({ target }), never);
    if (sent !== undefined) ended.push(sent);
  };
  const hanging = [send('hangs'), send('hangs-too')];
  await expect.poll(() => held).toHaveLength(2);
  await send('works');
  expect(ended).toEqual([{ kind: 'delivered' }]);
  for (const response of held) response.writeHead(204).end();
  await Promise.all(hanging);
});

test('notices: an https receiver is reached through the proxy, whose refusal is the cause', async () => {
  const proxy = await startProxy(0, { answer: 'HTTP/1.1 407 Who\r\n\r\n' });
  const config = configFromObject(
    {
      platform: { baseUrl: 'https://api.example.com' },
      database: 'sqlite:mirror.db',
      sources: [{ name: 'acme', token: { env: 'KEY' } }],
      notices: [{ kind: 'http', name: 'ops', url: 'https://ops.test/hook', secret: { env: 'KEY' } }],
    },
    { cwd: '/', env: { KEY: 'a-secret-for-signing', HTTPS_PROXY: proxy.url } },
  );
  const { targets, close } = noticeTargets(config, new VirtualClock());
  onTestFinished(close);
  expect(await targets.get('ops')?.(dueNotice({ target: 'ops' }), never)).toEqual({
    kind: 'failed',
    why: expect.stringMatching(/^could not be reached: the proxy \S+ answered 407; .*HTTPS_PROXY/) as unknown,
  });
  expect(proxy.asked.map(({ to }) => to)).toEqual(['ops.test:443']);
});

test('notices: only a tick that changed rows makes the daemon look for notices', async () => {
  const clock = new VirtualClock();
  const lifecycle = new Lifecycle();
  let looks = 0;
  let ended: TickListener = () => {};
  const engine = {
    mirror: {
      outbox: {
        waiting: async () => {
          looks += 1;
          return [];
        },
      },
    },
    sync: {
      onTick: (listener: TickListener) => {
        ended = listener;
        return () => {};
      },
    },
  } as unknown as Engine;
  const config = { notices: [], proxy: {} } as unknown as Config;
  const parts = { config, clock, random: seededRandom(1), logger: silentLogger } as unknown as EngineParts;
  deliverNotices(engine, parts, alone, lifecycle);
  onTestFinished(() => lifecycle.close());
  const looksAfter = async (changed: number) => {
    const before = looks;
    ended('acme' as never, { report: { applied: { added: 0, changed, removed: 0 } } } as never);
    await clock.advance(1_000);
    return looks - before;
  };
  await clock.advance(1_000);
  expect([await looksAfter(0), await looksAfter(1)]).toEqual([0, 1]);
});
