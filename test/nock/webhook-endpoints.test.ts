import nock from 'nock';
import { expect, test } from 'vitest';
import {
  createEndpoint,
  deleteEndpoint,
  getEndpoint,
  listEndpoints,
  reenableEndpoint,
  rotateSecret,
  testEndpoint,
  updateEndpoint,
} from '../../src/client/webhook-endpoints.js';
import { api, host, onlyMocked, signal } from './nocked-api.js';

const attributes = {
  url: 'https://mirror.test/webhooks',
  installation: null,
  mode: 'live',
  events: ['investment.changed'],
  enabled: true,
  failing_since: null,
  last_delivery_at: '2026-11-01T00:00:00Z',
  last_delivery_status: '202',
  created_at: '2026-10-01T00:00:00Z',
};
const data = { id: 'whe_1', type: 'webhook_endpoint', attributes };
const endpoint = {
  id: 'whe_1',
  url: 'https://mirror.test/webhooks',
  urlHint: null,
  installation: null,
  mode: 'live',
  events: ['investment.changed'],
  enabled: true,
  failingSince: null,
  lastDeliveryAt: '2026-11-01T00:00:00Z',
  lastDeliveryStatus: '202',
  createdAt: '2026-10-01T00:00:00Z',
};

onlyMocked();

test('the client reads the list of endpoints with the quota', async () => {
  nock(host)
    .get('/webhook_endpoints')
    .reply(200, { data: [data], meta: { count: 1, quota: 10 } });
  expect(await listEndpoints(api, signal)).toEqual({ endpoints: [endpoint], quota: 10 });
  nock(host).get('/webhook_endpoints').reply(200, { data: [] });
  expect(await listEndpoints(api, signal)).toEqual({ endpoints: [], quota: null });
});

test('the client reads a bound endpoint with its hint and no url', async () => {
  const { url: _, ...bound } = { ...attributes, url_hint: 'mirror.test…bhooks', installation: 'inst_1' };
  nock(host)
    .get('/webhook_endpoints/whe_1')
    .reply(200, { data: { ...data, attributes: bound } });
  expect(await getEndpoint(api, 'whe_1', signal)).toMatchObject({
    url: null,
    urlHint: 'mirror.test…bhooks',
    installation: 'inst_1',
  });
});

test('create and WHE-13 rotate return the secret', async () => {
  const shown = { data: { ...data, attributes: { ...attributes, secret: 'whsec_1' } } };
  const wanted = { url: attributes.url, events: attributes.events };
  nock(host).post('/webhook_endpoints', wanted).reply(201, shown);
  nock(host).post('/webhook_endpoints/whe_1/rotate_secret', '').reply(200, shown);
  expect(await createEndpoint(api, wanted, signal)).toEqual({ endpoint, secret: 'whsec_1' });
  expect((await rotateSecret(api, 'whe_1', signal)).secret).toBe('whsec_1');
});

test('a bound create that repeats an existing one returns no secret', async () => {
  nock(host).post('/webhook_endpoints').reply(200, { data });
  expect((await createEndpoint(api, { url: attributes.url, events: [] }, signal)).secret).toBeNull();
});

test('an update sends only the changed fields', async () => {
  nock(host)
    .patch('/webhook_endpoints/whe_1', { events: ['offering.closed'] })
    .reply(200, { data });
  expect(await updateEndpoint(api, 'whe_1', { events: ['offering.closed'] }, signal)).toEqual(endpoint);
});

test('the client deletes and reenables an endpoint without a body', async () => {
  nock(host)
    .delete('/webhook_endpoints/whe_1')
    .reply(200, { data: { id: 'whe_1', type: 'webhook_endpoint', removed: true } });
  nock(host)
    .post('/webhook_endpoints/whe_2/reenable', '')
    .reply(200, { data: { ...data, id: 'whe_2' } });
  await deleteEndpoint(api, 'whe_1', signal);
  expect((await reenableEndpoint(api, 'whe_2', signal)).enabled).toBe(true);
});

test("a test send returns the endpoint's response", async () => {
  const sent = {
    type: 'webhook_test',
    response_code: null,
    duration_ms: 12,
    event: 'investment.changed',
    payload: {},
  };
  nock(host)
    .post('/webhook_endpoints/whe_1/test', { event: 'investment.changed' })
    .reply(200, { data: { ...sent, delivered: false, error: 'timeout' } });
  nock(host)
    .post('/webhook_endpoints/whe_1/test', '')
    .reply(200, { data: { ...sent, delivered: true, response_code: 202, error: null } });
  expect(await testEndpoint(api, 'whe_1', 'investment.changed', signal)).toEqual({
    delivered: false,
    responseCode: null,
    error: 'timeout',
    durationMs: 12,
    event: 'investment.changed',
  });
  expect(await testEndpoint(api, 'whe_1', undefined, signal)).toMatchObject({
    delivered: true,
    responseCode: 202,
  });
});

test('a test send of which the platform says nothing was not delivered', async () => {
  nock(host).post('/webhook_endpoints/whe_1/test', '').reply(200, {});
  expect(await testEndpoint(api, 'whe_1', undefined, signal)).toEqual({
    delivered: false,
    responseCode: null,
    error: null,
    durationMs: null,
    event: '',
  });
});

test('an answer about another endpoint is refused, and so is its secret', async () => {
  const other = { data: { ...data, id: 'whe_2', attributes: { ...attributes, secret: 'whsec_2' } } };
  const path = '/webhook_endpoints/whe_1';
  nock(host).get(path).reply(200, other).patch(path).reply(200, other);
  nock(host).post(`${path}/reenable`).reply(200, other).post(`${path}/rotate_secret`).reply(200, other);
  for (const answered of [
    getEndpoint(api, 'whe_1', signal),
    updateEndpoint(api, 'whe_1', { events: [] }, signal),
    reenableEndpoint(api, 'whe_1', signal),
    rotateSecret(api, 'whe_1', signal),
  ])
    await expect(answered).rejects.toMatchObject({
      code: 'contract_broken',
      message: 'a response with a webhook endpoint has no usable `id`',
    });
});

test('an id cannot change the path of a request', async () => {
  nock(host)
    .get('/webhook_endpoints/..%2Fusers%2Fme')
    .reply(404, { error: { type: 'not_found', message: 'No.' } });
  await expect(getEndpoint(api, '../users/me', signal)).rejects.toMatchObject({ code: 'refused' });
  await expect(getEndpoint(api, '..', signal)).rejects.toThrow('needs the parameter');
});
