import { expect, test } from 'vitest';
import type { Ask } from '../../src/client/api.js';
import { CatalogPace, createCatalog } from '../../src/daemon/catalog.js';
import { Fault } from '../../src/domain/fault.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { rateLimits } from '../../src/wire/limits.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const never = new AbortController().signal;
const reply = (status: number, body: unknown = {}) => ({ status, body, text: '' });
const refused = (status: number, type: string, details: Readonly<Record<string, unknown>> = {}) =>
  new Fault(status === 403 ? 'forbidden' : 'refused', 'refused', { status, type, details });
const throwing = (fault: Fault) => async () => {
  throw fault;
};
const plenty = async () => null;

test('a catalog read is never faster than the limit per address, whatever window is counted', async () => {
  const clock = new VirtualClock();
  const pace = new CatalogPace(clock);
  const sent: number[] = [];
  const reading = (async () => {
    for (let read = 0; read < 200; read += 1) {
      await pace.turn(never);
      sent.push(clock.monotonic());
    }
  })();
  await clock.advance(400_000);
  await reading;
  const { limit, seconds } = rateLimits.catalogIp;
  for (const start of sent)
    expect(sent.filter((at) => at >= start && at < start + seconds * 1000).length).toBeLessThanOrEqual(limit);
});

test.each([
  [refused(404, 'not_found'), { reason: '404 not_found', forbidden: false }],
  [refused(403, 'insufficient_scope'), { reason: '403 insufficient_scope', forbidden: true }],
  [
    refused(404, 'not_found', { removed_in_version: '2026-10-15' }),
    { reason: 'removed in version 2026-10-15', forbidden: true },
  ],
])('a refusal is a result with its reason', async (fault, found) => {
  const catalog = createCatalog({ api: throwing(fault), publicApi: null, quota: plenty, pace: null });
  expect(await catalog.look({ path: '/companies/{id}' }, never)).toEqual({ kind: 'unavailable', ...found });
});

test.each(['platform_error', 'unreachable', 'rate_limited', 'unauthorized', 'contract_broken'] as const)(
  'a failure that may pass is thrown: %s',
  async (code) => {
    const catalog = createCatalog({
      api: throwing(new Fault(code, 'x')),
      publicApi: null,
      quota: plenty,
      pace: null,
    });
    await expect(catalog.look({ path: '/companies/{id}' }, never)).rejects.toMatchObject({ code });
  },
);

test.each([403, 404])('a %i of a gateway is not what the platform says of a company', async (status) => {
  const fault = new Fault('contract_broken', 'a page of a gateway', { status });
  const catalog = createCatalog({ api: throwing(fault), publicApi: null, quota: plenty, pace: null });
  await expect(catalog.look({ path: '/companies/{id}' }, never)).rejects.toBe(fault);
});

test('the publishable key reads what the token has no scope for, and only what is public', async () => {
  const asked: string[] = [];
  const catalog = createCatalog({
    api: throwing(refused(403, 'insufficient_scope')),
    publicApi: async ({ path }: Ask) => {
      asked.push(path);
      return reply(200, { data: 1 });
    },
    quota: plenty,
    pace: null,
  });
  expect(await catalog.look({ path: '/companies/{id}', isPublic: true }, never)).toEqual({
    kind: 'found',
    body: { data: 1 },
  });
  expect(await catalog.look({ path: '/offerings/{offering_id}/stats' }, never)).toMatchObject({
    kind: 'unavailable',
  });
  expect(asked).toEqual(['/companies/{id}']);
});

test('the last quarter of the quota is left to investments', async () => {
  const resetsAt = instantFromMillis(1);
  const looking = (left: number) =>
    createCatalog({
      api: async () => reply(304),
      publicApi: null,
      quota: async () => ({ limit: 1000, left, resetsAt }),
      pace: null,
    }).look({ path: '/companies/{id}' }, never);
  expect(await looking(250)).toEqual({ kind: 'same' });
  await expect(looking(249)).rejects.toMatchObject({ code: 'rate_limited', about: { retryAt: resetsAt } });
});
