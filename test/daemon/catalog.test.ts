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
  const begunAt = clock.monotonic();
  const sent: number[] = [];
  const reading = (async () => {
    for (let read = 0; read < 200; read += 1) {
      await pace.turn(never);
      sent.push(clock.monotonic() - begunAt);
    }
  })();
  await clock.advance(400_000);
  await reading;
  const { limit, seconds } = rateLimits.catalogIp;
  for (const start of sent)
    expect(sent.filter((at) => at >= start && at < start + seconds * 1000).length).toBeLessThanOrEqual(limit);
  // A quarter of them at once, the others evenly over the rest of the window.
  expect(sent.slice(0, 15)).toEqual(Array(15).fill(0));
  expect(sent[15]).toBeCloseTo(60_000 / 45, 0);
});

test.each([
  [refused(404, 'not_found'), { reason: '404 not_found', forbidden: false }],
  [refused(403, 'insufficient_scope'), { reason: '403 insufficient_scope', forbidden: true }],
  [
    refused(404, 'not_found', { removed_in_version: '2026-10-15' }),
    { reason: 'removed in version 2026-10-15', forbidden: true },
  ],
  [
    refused(404, 'not_found', { removed_in_version: 'the next one' }),
    { reason: 'removed in version unknown', forbidden: true },
  ],
])('a refusal is a result with its reason', async (fault, found) => {
  const catalog = createCatalog({ api: throwing(fault), publicApi: null, quota: plenty, pace: null });
  const lookup = { path: '/companies/{id}', isPublic: true };
  expect(await catalog.look(lookup, never)).toEqual({ kind: 'unavailable', ...found });
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

test('a refusal of the request itself, such as of a filter, is thrown', async () => {
  const fault = refused(400, 'invalid_parameter');
  const catalog = createCatalog({ api: throwing(fault), publicApi: null, quota: plenty, pace: null });
  await expect(catalog.look({ path: '/explore' }, never)).rejects.toBe(fault);
});

test('only reads that the platform counts per address are spaced out, and none is sent once it is stopped', async () => {
  const stop = new AbortController();
  const sent: string[] = [];
  let turns = 0;
  const pace = {
    turn: async () => {
      turns += 1;
    },
  } as unknown as CatalogPace;
  const api = async ({ path }: Ask) => {
    sent.push(path);
    return reply(200);
  };
  const catalog = createCatalog({ api, publicApi: null, quota: plenty, pace });
  await catalog.look({ path: '/companies/{id}/updates' }, stop.signal);
  expect(turns).toBe(0);
  await catalog.look({ path: '/explore', catalog: true }, stop.signal);
  expect(turns).toBe(1);
  stop.abort();
  await expect(catalog.look({ path: '/explore', catalog: true }, stop.signal)).rejects.toMatchObject({
    code: 'stopped',
  });
  expect(sent).toEqual(['/companies/{id}/updates', '/explore']);
});

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
  const unknown = createCatalog({
    api: throwing(refused(404, 'not_found')),
    publicApi: async ({ path }: Ask) => reply(200, { data: asked.push(path) }),
    quota: plenty,
    pace: null,
  });
  expect(await unknown.look({ path: '/companies/{id}', isPublic: true }, never)).toMatchObject({
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
