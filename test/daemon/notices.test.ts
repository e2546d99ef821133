import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { Secret } from '../../src/config/secrets.js';
import { noticeTargets } from '../../src/daemon/notices.js';
import type { Sent } from '../../src/outbox/ports.js';
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
  const { targets, close } = noticeTargets({ notices } as unknown as Config, new VirtualClock());
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
