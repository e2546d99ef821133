import { expect, test } from 'vitest';
import type { Api } from '../../src/client/api.js';
import { Fault } from '../../src/domain/fault.js';
import { systemClock } from '../../src/runtime/clock.js';
import { listenToPlatform } from '../../src/tasks/listen-public.js';
import { testRandom } from '../support/chance.js';

/** Listens at a platform that answers the deletion of the endpoint with this fault, and stops. */
async function ended(deletion: Fault): Promise<unknown> {
  const attributes = {
    url: 'https://tunnel.test/',
    mode: 'test',
    events: [],
    enabled: true,
    secret: 'whsec_1',
  };
  const api: Api = async ({ method }) => {
    if (method === 'DELETE') throw deletion;
    const body = { data: { id: 'whe_1', type: 'webhook_endpoint', attributes } };
    return { status: 201, body, text: '', requestId: null };
  };
  const stop = new AbortController();
  const listening = await listenToPlatform(
    {
      forwardTo: new URL('http://127.0.0.1:1/'),
      events: [],
      publicUrl: 'https://tunnel.test/',
      at: { host: '127.0.0.1', port: 0 },
      mode: 'test',
      signature: 'Service-Signature',
    },
    api,
    {
      clock: systemClock,
      random: testRandom(),
      signal: stop.signal,
      onForwarded: () => {},
      onNote: () => {},
    },
  );
  stop.abort();
  return await listening.ended.catch((error: unknown) => error);
}

test('listen --public-url reports that its endpoint is not deleted when a gateway answers 404', async () => {
  expect(await ended(new Fault('contract_broken', 'a page of a gateway', { status: 404 }))).toMatchObject({
    message: expect.stringContaining('whe_1 is not deleted'),
    about: { hint: expect.stringContaining('rosterd endpoints delete whe_1') },
  });
  expect(await ended(new Fault('refused', 'it is gone', { status: 404, type: 'not_found' }))).toBeUndefined();
});
