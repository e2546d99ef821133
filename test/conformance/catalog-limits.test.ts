import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../../src/platform/state/statements.js';
import { companyOf, errorOf, personToken, publishableKey, roundOf } from './catalog.js';
import { makeClient } from './credentials.js';
import { type RunningPlatform, startPlatform, worldStart } from './running-platform.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startPlatform();
});
afterEach(() => world.close());

describe('rate limits of the catalog', () => {
  test('RATE-03 CAT-14 CAT-38 the catalog serves one address sixty requests a minute over explore, offerings and search together', async () => {
    const keys = Array.from({ length: 3 }, () => makeClient(world).clientId);
    const paths = [
      '/explore?per_page=1',
      `/offerings/${roundOf(world, 'harbour-lanterns').id}`,
      '/companies/search?q=zzz',
    ];
    for (let index = 0; index < 60; index += 1) {
      expect((await world.get(paths[index % 3] ?? '', { token: keys[index % 3] ?? '' })).status).toBe(200);
    }
    for (const path of paths) {
      const answer = await world.get(path, { token: keys[0] ?? '' });
      expect(errorOf(answer)).toEqual([429, 'rate_limit_exceeded']);
      expect(answer.body.error.details).toEqual({ limit: 60, period: 'minute', retry_after: 60 });
    }
    const page = await world.get(`/companies/${companyOf(world, 'harbour-lanterns').id}`, {
      token: keys[0] ?? '',
    });
    expect(page.status).toBe(200);
    world.clock.advance(60_000);
    expect((await world.get(paths[0] ?? '', { token: keys[0] ?? '' })).status).toBe(200);
  });

  test('RATE-04 the catalog serves one key three hundred public reads in five minutes, whatever it reads', async () => {
    const key = publishableKey(world);
    const path = `/companies/${companyOf(world, 'harbour-lanterns').id}/pitch?sections=perks`;
    run(
      world.services.state,
      `INSERT INTO windows (limit_name, key, window_start, spent) VALUES ('publishableKey', ?, ?, 299)`,
      [key, Math.floor(worldStart / 300_000) * 300],
    );
    expect((await world.get(path, { token: key })).status).toBe(200);
    const answer = await world.get(path, { token: key });
    expect(errorOf(answer)).toEqual([429, 'rate_limit_exceeded']);
    expect(answer.body.error.details).toMatchObject({ limit: 300, period: '5 minutes' });
    expect((await world.get(path, { token: makeClient(world).clientId })).status).toBe(200);
    expect(
      (await world.get(path, { token: personToken(world, 'ida@people.example', 'read:profile') })).status,
    ).toBe(200);
  });
});

describe('keys and origins on public reads', () => {
  test('OAUTH-28 OAUTH-29 OAUTH-30 the catalog answers unknown, archived and deleted keys with 401 and a disabled application with 403', async () => {
    const { state } = world.services;
    const client = makeClient(world);
    const read = (key: string) => world.get('/explore', { token: key });
    expect((await read(client.clientId)).status).toBe(200);
    expect(errorOf(await read(client.clientId.replace('pk_test_', 'pk_live_')))).toEqual([
      401,
      'unauthorized',
    ]);
    expect(errorOf(await read('pk_test_unknown'))).toEqual([401, 'unauthorized']);
    run(state, `UPDATE applications SET status = 'disabled' WHERE no = ?`, [client.applicationNo]);
    expect(errorOf(await read(client.clientId))).toEqual([403, 'forbidden']);
    run(state, `UPDATE applications SET status = 'deleted' WHERE no = ?`, [client.applicationNo]);
    expect(errorOf(await read(client.clientId))).toEqual([401, 'unauthorized']);
    run(state, `UPDATE applications SET status = 'active' WHERE no = ?`, [client.applicationNo]);
    run(state, 'UPDATE clients SET archived_at = 1 WHERE client_id = ?', [client.clientId]);
    expect(errorOf(await read(client.clientId))).toEqual([401, 'unauthorized']);
  });

  test('OAUTH-31 a web page of any origin may read the catalog, but only a registered origin may follow', async () => {
    const key = publishableKey(world);
    const foreign = { origin: 'https://anybody.example' };
    const answer = await world.get('/explore', { token: key, headers: foreign });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    const path = `/users/me/follows/${companyOf(world, 'paper-kites').id}`;
    const preflight = (origin: string) =>
      world.send('OPTIONS', path, { headers: { origin, 'access-control-request-method': 'PUT' } });
    expect(
      (await preflight('https://anybody.example')).headers.get('access-control-allow-origin'),
    ).toBeNull();
    makeClient(world);
    const registered = (await preflight('https://partner.example')).headers;
    expect(registered.get('access-control-allow-origin')).toBe('https://partner.example');
    expect(registered.get('access-control-allow-methods')).toContain('PUT');
  });

  test('OAUTH-31 CAT-02 a web page may send a known ETag, and read it with the other headers of a response', async () => {
    const path = `/offerings/${world.ready.companies[0]?.offering}`;
    const listOf = (headers: Headers, name: string) =>
      headers.get(`access-control-${name}`)?.toLowerCase().split(', ');
    const asked = { origin: 'https://anybody.example', 'access-control-request-method': 'GET' };
    const preflight = await world.send('OPTIONS', path, { headers: asked });
    expect(listOf(preflight.headers, 'allow-headers')).toEqual(
      expect.arrayContaining(['authorization', 'if-none-match', 'idempotency-key', 'service-version']),
    );
    const read = await world.get(path, { token: publishableKey(world), headers: { origin: asked.origin } });
    expect(read.headers.get('etag')).toMatch(/^W\//);
    expect(listOf(read.headers, 'expose-headers')).toEqual(
      expect.arrayContaining([
        ...['etag', 'x-service-request-id', 'service-version', 'service-version-latest'],
        ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
      ]),
    );
  });
});
