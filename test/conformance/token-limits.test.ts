import { afterEach, beforeEach, expect, test } from 'vitest';
import { all } from '../../src/platform/state/statements.js';
import { form, makeClient, type TestClient } from './credentials.js';
import { type RunningPlatform, startPlatform } from './running-platform.js';

let world: RunningPlatform;
let client: TestClient;
beforeEach(async () => {
  world = await startPlatform({ platform: { trustedProxies: ['127.0.0.1'] } });
  client = makeClient(world);
});
afterEach(() => world.close());

const ask = (of: TestClient, from: string, secret = of.secret) =>
  world.post('/oauth/token', {
    headers: { 'x-forwarded-for': from },
    body: form({ grant_type: 'client_credentials', client_id: of.clientId, client_secret: secret }),
  });

/** Spends the requests of the client, half of them with a wrong secret, and returns the first refusal. */
async function overLimit() {
  for (let number = 1; number <= 60; number += 1) {
    const wrong = number % 2 === 0;
    const answer = await ask(client, `10.0.0.${number}`, wrong ? 'sk_test_wrong' : client.secret);
    expect(answer.status).toBe(wrong ? 401 : 200);
  }
  return await ask(client, '10.0.1.1');
}

test('RATE-11 RATE-12 RATE-14 the refusal at the limit of a client has details, a reset time and no Retry-After', async () => {
  const over = await overLimit();
  expect(over.status).toBe(429);
  expect(over.body.error).toMatchObject({
    type: 'rate_limit_exceeded',
    details: { limit: 60, period: 'hour', retry_after: 3600 },
  });
  const reset = Math.floor(world.services.clock.now() / 1000) + 3600;
  expect(over.headers.get('x-ratelimit-reset')).toBe(String(reset));
  expect(over.headers.get('retry-after')).toBeNull();
});

test('RATE-05 the token endpoint serves a client 60 requests an hour, including wrong secrets', async () => {
  expect((await overLimit()).status).toBe(429);
  expect((await ask(makeClient(world), '10.0.1.1')).status).toBe(200);
  world.clock.advance(3_600_000);
  expect((await ask(client, '10.0.1.1')).status).toBe(200);
});

test('RATE-06 the token endpoint serves an address 300 requests in 5 minutes, whatever client it names', async () => {
  for (let number = 1; number <= 300; number += 1) {
    const answer = await world.post('/oauth/token', {
      headers: { 'x-forwarded-for': '10.9.9.9' },
      body: form({ grant_type: 'client_credentials', client_id: `pk_test_made_up_${number}` }),
    });
    expect(answer.status).toBe(401);
  }
  expect((await ask(client, '10.9.9.9')).status).toBe(429);
  expect((await ask(client, '10.9.9.8')).status).toBe(200);
  world.clock.advance(300_000);
  expect((await ask(client, '10.9.9.9')).status).toBe(200);
  const counted = all<{ key: string }>(
    world.services.state,
    `SELECT key FROM windows WHERE limit_name = 'tokenEndpointClient'`,
  );
  expect(counted.map((row) => row.key)).toEqual([client.clientId]);
});
