import { afterEach, beforeEach, expect, test } from 'vitest';
import { one, run } from '../../src/platform/state/statements.js';
import { makeClient } from './credentials.js';
import { makeCast } from './matrix/cast.js';
import { company, type RunningPlatform, startPlatform } from './running-platform.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startPlatform();
});
afterEach(() => world.close());

test.each([
  ['2026-10-01T00:00:00Z', '2026-10-01'],
  ['2026-10-14T23:59:59Z', '2026-10-01'],
  ['2026-10-15T00:00:00Z', '2026-10-15'],
])('VERS-08 an application created at %s is pinned to %s', async (now, version) => {
  await world.control('POST', '/clock', { now });
  const { applicationNo } = makeClient(world);
  const row = one<{ pinned_version: string }>(
    world.services.state,
    'SELECT pinned_version FROM applications WHERE no = ?',
    [applicationNo],
  );
  expect(row?.pinned_version).toBe(version);
});

test('VERS-20 the platform serves both versions and announces an end of neither', async () => {
  for (const version of ['2026-10-01', '2026-10-15']) {
    const { status, headers } = await world.get('/investments', {
      token: company(world).token,
      headers: { 'service-version': version },
    });
    expect([status, headers.get('service-version')]).toEqual([200, version]);
    for (const name of ['sunset', 'deprecation', 'warning']) expect(headers.has(name)).toBe(false);
  }
});

test('VERS-18 responses of both versions have the same fields of the same types', async () => {
  const cast = makeCast(world, 'test');
  const { data } = (await world.get('/investments?per_page=1', { token: company(world).token })).body;
  for (const [path, scope] of [
    ['/investments', 'read:investments'],
    [`/investments/${data[0].id}`, 'read:investments'],
    [`/offerings/${company(world).offering}/stats`, 'read:investments'],
    [`/companies/${company(world).id}/investments/changes`, 'read:companies'],
    ['/installations', 'read:installations'],
    ['/installations/eligible', 'read:installations'],
    ['/webhook_endpoints', 'read:webhooks'],
    ['/nowhere', 'read:webhooks'],
  ] as const) {
    const token = cast.token('founder', { scopes: [scope] }) ?? '';
    const [older, newer] = await Promise.all(
      ['2026-10-01', '2026-10-15'].map((version) =>
        world.get(path, { token, headers: { 'service-version': version } }),
      ),
    );
    expect([path, older?.status, outline(older?.body)]).toEqual([path, newer?.status, outline(newer?.body)]);
  }
});

/** Names and types of the fields; the first element of a list stands for all. */
function outline(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(outline);
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, held]) => [name, outline(held)]));
}

test('RATE-16 windows begin with the hour of the clock, and a 429 gives the limit as a number and the period as a word', async () => {
  const { token } = company(world);
  await world.control('POST', '/clock', { now: '2026-11-02T09:59:30Z' });
  expect((await world.get('/investments', { token })).status).toBe(200);
  run(world.services.state, `UPDATE windows SET spent = 1000 WHERE limit_name = 'token'`);
  const refused = await world.get('/investments', { token });
  expect([refused.status, refused.body.error.details]).toEqual([
    429,
    { limit: 1000, period: 'hour', retry_after: 30 },
  ]);
  expect(Date.parse('2026-11-02T10:00:00Z') / 1000).toBe(Number(refused.headers.get('x-ratelimit-reset')));
  world.clock.advance(30_000);
  expect((await world.get('/investments', { token })).status).toBe(200);
});
