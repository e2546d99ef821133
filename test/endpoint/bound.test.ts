import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Api, Ask } from '../../src/client/api.js';
import type { WebhookEndpoint } from '../../src/client/webhook-endpoints.js';
import { Fault } from '../../src/domain/fault.js';
import { conflictingEndpoint, ofOtherMode } from '../../src/endpoint/bound.js';
import { createEndpointCare } from '../../src/endpoint/care.js';
import { endpointStore } from '../../src/endpoint/state-store.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import type { Vault } from '../../src/vault/ports.js';
import { tempFolder } from '../store/temp-folder.js';

const publicUrl = 'https://hooks.example.com/rosterd';
const wantedEvents = ['investment.changed', 'offering.closed'];

/** The state is in a file. */
const noVault = {} as Vault;

interface Held {
  readonly id: string;
  url: string;
  readonly mode: string;
  events: readonly string[];
}

/** A platform on which an installation token binds endpoints: it hides their address, and shows a secret once. */
function platformWith(endpoints: Held[], lists: boolean) {
  const asked: string[] = [];
  const shown = ({ id, url, mode, events }: Held, secret?: string) => ({
    id,
    type: 'webhook_endpoint',
    attributes: {
      ...{ mode, events, enabled: true, installation: 'inst_1', secret },
      url_hint: `${new URL(url).host}…${url.slice(-6)}`,
      ...{ failing_since: null, last_delivery_at: null, last_delivery_status: null, created_at: null },
    },
  });
  const answer = ({ method = 'GET', path, params, body }: Ask): unknown => {
    const own = endpoints.find(({ id }) => id === params?.external_id);
    if (method === 'GET' && params === undefined)
      return { data: lists ? endpoints.map((one) => shown(one)) : [], meta: { quota: 5 } };
    if (method === 'GET') {
      if (own !== undefined) return { data: shown(own) };
      throw new Fault('refused', 'GET /webhook_endpoints/{external_id} answered 404', { status: 404 });
    }
    if (own !== undefined && path.endsWith('/rotate_secret'))
      return { data: shown(own, 'whsec_bmV3IHNlY3JldA==') };
    const { url, events, mode } = body as { url: string; events: readonly string[]; mode: string };
    if (own !== undefined) {
      Object.assign(own, body);
      return { data: shown(own) };
    }
    const twin = endpoints.find((one) => one.url === url && one.mode === mode);
    if (twin === undefined) {
      const made = { id: 'whe_made', url, mode, events };
      endpoints.push(made);
      return { data: shown(made, 'whsec_Zmlyc3Qgc2VjcmV0') };
    }
    if ([...twin.events].sort().join() === [...events].sort().join()) return { data: shown(twin) };
    throw new Fault('refused', 'POST /webhook_endpoints answered 409 conflict', { status: 409 });
  };
  const api: Api = async (ask) => {
    asked.push(`${ask.method ?? 'GET'} ${ask.path.replace(/^.*webhook_endpoints/, '')}`);
    return { status: 200, body: answer(ask), text: '', requestId: null };
  };
  return { api, asked };
}

/** Starts the care, without a state file unless one is named, and returns the state after the first check. */
async function cared(
  endpoints: Held[],
  { file = join(tempFolder(), 'endpoint.json'), publicUrl: url = publicUrl, lists = true } = {},
) {
  const { api, asked } = platformWith(endpoints, lists);
  const wanted = {
    publicUrl: url,
    mode: 'live' as const,
    events: wantedEvents,
    file,
    entry: null,
    checkMillis: 3_600_000,
    rotateMillis: null,
  };
  const care = createEndpointCare({
    unstored: () => {},
    api,
    wanted,
    store: endpointStore(wanted, noVault),
    clock: systemClock,
    logger: silentLogger,
    catchUp: () => {},
  });
  onTestFinished(() => care.close());
  await care.load();
  // The check is complete when its health is stored; the one of an earlier process does not count.
  const before = existsSync(file) ? { ...JSON.parse(readFileSync(file, 'utf8')), health: null } : null;
  if (before !== null) writeFileSync(file, JSON.stringify(before), { mode: 0o600 });
  await care.load();
  care.start();
  const state = () => JSON.parse(readFileSync(file, 'utf8'));
  await expect.poll(() => state().health?.state ?? null).not.toBeNull();
  await care.close();
  return { state: state(), asked, secrets: care.secrets(), file };
}

const ours = (events: readonly string[]): Held => ({ id: 'whe_ours', url: publicUrl, mode: 'live', events });
const other: Held = { id: 'whe_other', url: 'https://hooks.example.com/others', mode: 'live', events: ['x'] };

test.each([
  ['old events', ['investment.changed']],
  ['the same events', wantedEvents],
])(
  'a bound endpoint with %s is adopted after its state file was lost, and gets a secret',
  async (_, events) => {
    const endpoints = [{ ...other }, ours(events)];
    const { state, asked, secrets } = await cared(endpoints);
    expect(state).toMatchObject({ id: 'whe_ours', url: publicUrl, health: { state: 'ok' } });
    expect(secrets).toEqual(['whsec_bmV3IHNlY3JldA==']);
    expect(endpoints.map((one) => one.events)).toEqual([['x'], wantedEvents]);
    expect(asked.filter((call) => call.startsWith('POST')).map((call) => call.split('/').at(-1))).toEqual([
      'POST ',
      'rotate_secret',
    ]);
  },
);

test('when several bound endpoints could be the one, none is changed, and status says what to do', async () => {
  const twin = { ...ours(['y']), id: 'whe_twin', url: 'https://hooks.example.com/x/rosterd' };
  const { state, asked } = await cared([ours(['x']), twin]);
  expect(state.health).toMatchObject({
    state: 'blocked',
    hint: expect.stringContaining('rosterd endpoints list'),
  });
  expect(asked.filter((call) => !call.startsWith('GET'))).toHaveLength(1);
});

const shown = { id: 'whe_2', mode: 'test', url: publicUrl, urlHint: null, installation: null };
const hint = 'hooks.example.com…osterd';

test.each([
  ['another mode', shown, true],
  ['the same mode', { ...shown, mode: 'live' }, false],
  ['another mode and another address', { ...shown, url: 'https://hooks.example.com/x' }, false],
  ['another mode and a hidden address', { ...shown, url: null, urlHint: hint }, true],
  [
    'another mode and another hidden address',
    { ...shown, url: null, urlHint: 'x.example.com…osterd' },
    false,
  ],
  ['another mode and no address', { ...shown, url: null }, false],
  ['the same mode and a hidden address', { ...shown, mode: 'live', url: null, urlHint: hint }, false],
])('an endpoint of %s is named as a former one or not', (_, endpoint, isNamed) => {
  const found = ofOtherMode([endpoint as WebhookEndpoint], { publicUrl, mode: 'live' });
  expect(found).toEqual(isNamed ? [endpoint] : []);
});

test.each([
  ['of the application', { ...shown, mode: 'live', urlHint: hint }],
  ['of another mode', { ...shown, installation: 'inst_1', urlHint: hint }],
  ['without a shown address', { ...shown, mode: 'live', installation: 'inst_1' }],
])('an endpoint %s is not the bound one that the platform refuses to create again', (_, endpoint) => {
  const refusal = new Fault('refused', '409');
  const looked = () =>
    conflictingEndpoint([endpoint as WebhookEndpoint], { publicUrl, mode: 'live' }, refusal);
  expect(looked).toThrow('409');
});

test.each([
  ['another path', 'https://hooks.example.com/other/rosterd', true],
  ['another host', 'https://moved.example.com/rosterd', true],
  ['another host, and the state of an earlier version', 'https://moved.example.com/rosterd', false],
])('a bound endpoint is moved to the address of the configuration: %s', async (_, moved, isKnown) => {
  const endpoints: Held[] = [{ ...other }];
  const { file, state } = await cared(endpoints);
  if (!isKnown) writeFileSync(file, JSON.stringify({ ...state, url: undefined }), { mode: 0o600 });
  const after = await cared(endpoints, { file, publicUrl: moved });
  expect(after.asked).toEqual(['GET ', 'PATCH /{external_id}']);
  expect(after.state).toMatchObject({ id: 'whe_made', health: { state: 'ok' } });
  expect(endpoints).toMatchObject([other, { id: 'whe_made', url: moved, events: wantedEvents }]);
  // It is moved once.
  expect((await cared(endpoints, { file, publicUrl: moved })).asked).toEqual(['GET ']);
});

test('an endpoint that a list lacks is created again only when the platform does not know it', async () => {
  const endpoints: Held[] = [];
  const { file, secrets } = await cared(endpoints);
  const hidden = await cared(endpoints, { file, lists: false });
  expect(hidden.asked).toEqual(['GET ', 'GET /{external_id}']);
  expect([hidden.state.id, hidden.secrets]).toEqual(['whe_made', secrets]);
  endpoints.length = 0;
  const gone = await cared(endpoints, { file });
  expect(gone.asked).toEqual(['GET ', 'GET /{external_id}', 'POST ']);
  expect(endpoints).toHaveLength(1);
});
