import { expect, test } from 'vitest';
import type { WebhookEndpoint } from '../../src/client/webhook-endpoints.js';
import type { EndpointConfig } from '../../src/config/config.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { nextStep } from '../../src/endpoint/plan.js';
import { type EndpointState, liveSecrets, unknownEndpoint, withSecret } from '../../src/endpoint/state.js';

const hour = 3_600_000;
const now = Date.parse('2026-11-20T12:00:00Z');
const wanted: EndpointConfig = {
  publicUrl: 'https://hooks.example.com/w',
  mode: 'live',
  events: ['investment.changed'],
  file: '/nowhere',
  entry: null,
  checkMillis: 300_000,
  rotateMillis: 24 * hour,
};
const well: WebhookEndpoint = {
  id: 'whe_1',
  url: wanted.publicUrl,
  urlHint: null,
  installation: null,
  mode: 'live',
  events: wanted.events,
  enabled: true,
  failingSince: null,
  lastDeliveryAt: null,
  lastDeliveryStatus: null,
  createdAt: null,
};
const known = (age = 2 * hour): EndpointState => withSecret(unknownEndpoint, 'whe_1', 'whsec_a', now - age);
const step = (state: EndpointState, listed: readonly WebhookEndpoint[]) =>
  nextStep(state, listed, wanted, now);

test('a missing endpoint is created, and one with our address in another mode is ignored', () => {
  expect(step(unknownEndpoint, [])).toEqual({ kind: 'create' });
  expect(step(unknownEndpoint, [{ ...well, mode: 'test' }])).toEqual({ kind: 'create' });
  expect(step(known(), [{ ...well, id: 'whe_2', url: 'https://other.example.com' }])).toEqual({
    kind: 'create',
  });
});

test('a known and healthy endpoint needs no step', () => {
  expect(step(known(), [well])).toEqual({ kind: 'rest', endpoint: well });
});

test('an address that the platform returns in another spelling is ours, and another one is not', () => {
  const spelled = { ...wanted, publicUrl: 'https://Hooks.Example.com' };
  const normal = { ...well, url: 'https://hooks.example.com/' };
  expect(nextStep(known(), [normal], spelled, now)).toEqual({ kind: 'rest', endpoint: normal });
  expect(nextStep(unknownEndpoint, [normal], spelled, now)).toMatchObject({ kind: 'rotate', id: 'whe_1' });
  const bound = { ...well, url: null, urlHint: 'Hooks.Example.com…/w' };
  expect(nextStep(known(), [bound], wanted, now)).toEqual({ kind: 'rest', endpoint: bound });
  const other = { ...well, url: 'https://hooks.example.com/W' };
  expect(step(known(), [other])).toMatchObject({ kind: 'update', change: { url: wanted.publicUrl } });
});

test('an endpoint with our address and an unknown secret gets a new secret', () => {
  expect(step(unknownEndpoint, [well])).toMatchObject({ kind: 'rotate', why: 'no secret known' });
  expect(step(known(), [{ ...well, id: 'whe_2' }])).toMatchObject({ kind: 'rotate', id: 'whe_2' });
});

test('address and events are updated to the configured ones, even on a disabled endpoint', () => {
  const moved = { ...well, url: 'https://old.example.com/w', enabled: false };
  expect(step(known(), [moved])).toEqual({ kind: 'update', id: 'whe_1', change: { url: wanted.publicUrl } });
  expect(step(known(), [{ ...well, events: ['offering.closed'] }])).toEqual({
    ...{ kind: 'update', id: 'whe_1', change: { events: wanted.events } },
  });
  expect(step(known(), [{ ...well, enabled: false }])).toEqual({ kind: 'reenable', id: 'whe_1' });
});

test('a rotation whose response was lost is repeated after an hour', () => {
  const lost = (age: number) => ({ ...known(), rotationAskedAt: instantFromMillis(now - age) });
  expect(step(lost(hour - 1), [well]).kind).toBe('rest');
  expect(step(lost(hour), [well])).toMatchObject({ kind: 'rotate', why: 'answer lost' });
});

test('rejected signatures cause at most one rotation an hour, and other failures none', () => {
  const refused = { ...well, failingSince: '2026-11-20T11:00:00Z', lastDeliveryStatus: '401' };
  expect(step(known(hour), [refused])).toMatchObject({ kind: 'rotate', why: 'secret refused' });
  expect(step(known(hour - 1), [refused]).kind).toBe('rest');
  expect(step(known(hour), [{ ...refused, lastDeliveryStatus: '503' }]).kind).toBe('rest');
});

test('a signature that was rejected before the present secret existed causes no rotation', async () => {
  const refused = { ...well, failingSince: '2026-11-20T08:00:00Z', lastDeliveryStatus: '401' };
  const attempted = (age: number) => ({ ...refused, lastDeliveryAt: instantFromMillis(now - age) });
  expect(step(known(2 * hour), [attempted(3 * hour)]).kind).toBe('rest');
  for (const age of [hour, 2 * hour])
    expect(step(known(2 * hour), [attempted(age)])).toMatchObject({ kind: 'rotate', why: 'secret refused' });
});

test('times that a clock which was ahead has left behind delay no rotation', () => {
  const refused = { ...well, failingSince: '2026-11-20T11:00:00Z', lastDeliveryStatus: '401' };
  const attempted = { ...refused, lastDeliveryAt: instantFromMillis(now - hour) };
  expect(step(known(-9_999 * hour), [attempted])).toMatchObject({ kind: 'rotate', why: 'secret refused' });
  const lost = { ...known(), rotationAskedAt: instantFromMillis(now + 9_999 * hour) };
  expect(step(lost, [well])).toMatchObject({ kind: 'rotate', why: 'answer lost' });
  expect(step(known(-9_999 * hour), [well])).toMatchObject({ kind: 'rotate', why: 'due' });
  // Another host, whose clock is a little ahead, has just rotated it.
  for (const ahead of [60_000, hour]) expect(step(known(-ahead), [refused]).kind).toBe('rest');
});

test('a secret is rotated when it is due, unless rotation is disabled', () => {
  expect(step(known(24 * hour), [well])).toMatchObject({ kind: 'rotate', why: 'due' });
  expect(nextStep(known(9_999 * hour), [well], { ...wanted, rotateMillis: null }, now).kind).toBe('rest');
});

test('CLIENT-23 the previous secret stays valid for the overlap and then expires', () => {
  const rotated = withSecret(known(), 'whe_1', 'whsec_b', now);
  const values = (at: number) => liveSecrets(rotated, at).map(({ value }) => value);
  expect(values(now)).toEqual(['whsec_b', 'whsec_a']);
  expect(values(now + 24 * hour)).toEqual(['whsec_b', 'whsec_a']);
  expect(values(now + 25 * hour)).toEqual(['whsec_b']);
  expect(withSecret(rotated, 'whe_9', 'whsec_c', now).secrets).toHaveLength(1);
});
