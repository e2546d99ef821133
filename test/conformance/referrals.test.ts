import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createReferralCode, listReferralCodes } from '../../src/platform/contract/referrals.js';
import type { PlatformEvent } from '../../src/platform/events.js';
import { makeClient, makeOrganization, type TestClient, Visitor } from './credentials.js';
import { otherApp } from './installs.js';
import { type Answered, company, type RunningPlatform, startPlatform, user } from './running-platform.js';

let world: RunningPlatform;
let token: string;
beforeEach(async () => {
  world = await startPlatform({ limits: false });
  const app = world.ready.apps[0];
  token = await clientToken(app?.clientId ?? '', app?.clientSecret ?? '');
});
afterEach(() => world.close());

async function clientToken(id: string, secret: string, scope = 'write:referral_codes'): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
    scope,
  });
  return (await world.post('/oauth/token', { body })).body.access_token;
}
const tokenOf = (client: TestClient, scope?: string) => clientToken(client.clientId, client.secret, scope);
const create = (body: object = {}, as = token, headers: Record<string, string> = {}) =>
  world.post('/referral_codes', { token: as, body, headers });
const errorOf = ({ status, body }: Answered): [number, string] => [status, body.error?.type];

test('REF-01 REF-05 an application creates, reads, lists and disables a code; the link carries it as wfr', async () => {
  const offering = company(world).offerings[1];
  const made = await create({ label: 'Newsletter', offering_id: offering });
  expect(made.status).toBe(201);
  createReferralCode.responses[201].schema.parse(made.body);
  const { id, attributes } = made.body.data;
  expect(id).toMatch(/^ref_/);
  expect(attributes).toMatchObject({ label: 'Newsletter', offering, status: 'active', investment_count: 0 });
  expect(attributes.url).toBe(`${world.url}/invest/${offering}?wfr=${id}`);
  const plain = await create();
  expect(plain.body.data.attributes).toMatchObject({ label: null, offering: null, url: null });
  const list = await world.get('/referral_codes?per_page=1', { token });
  listReferralCodes.responses[200].schema.parse(list.body);
  expect([list.body.data[0].id, list.body.meta.has_more]).toEqual([plain.body.data.id, true]);
  const rest = await world.get(`/referral_codes?cursor=${list.body.meta.next_cursor}`, { token });
  expect(rest.body.data.map((row: { id: string }) => row.id)).toEqual([id]);
  const disabled = await world.delete(`/referral_codes/${id}`, { token });
  expect(disabled.body.data.attributes).toMatchObject({
    status: 'disabled',
    disabled_at: '2026-11-02T09:00:00.000Z',
  });
  world.clock.advance(1000);
  expect((await world.delete(`/referral_codes/${id}`, { token })).body.data).toEqual(disabled.body.data);
  expect((await world.get(`/referral_codes/${id}`, { token })).body.data).toEqual(disabled.body.data);
  expect((await new Visitor(world).open(`/invest/${offering}?wfr=${id}`)).status).toBe(410);
});

test('ERR-19 ERR-24 creating a referral code accepts an Idempotency-Key', async () => {
  const key = { 'idempotency-key': 'r1' };
  const first = await create({ label: 'a' }, token, key);
  expect((await create({ label: 'a' }, token, key)).body).toEqual(first.body);
  expect(errorOf(await create({ label: 'b' }, token, key))).toEqual([422, 'idempotency_conflict']);
});

test('REF-03 SCOPE-14 a person or an installation gets 403 app_credentials_required, whatever its scopes', async () => {
  for (const other of [user(world).token, company(world).token, world.ready.syndicates[0]?.token ?? '']) {
    for (const answer of [
      await create({}, other),
      await world.get('/referral_codes', { token: other }),
      await world.get('/referral_codes/ref_x', { token: other }),
      await world.delete('/referral_codes/ref_x', { token: other }),
    ]) {
      expect(errorOf(answer)).toEqual([403, 'app_credentials_required']);
    }
  }
  const key = world.ready.apps[0]?.clientId ?? '';
  expect(errorOf(await world.get('/referral_codes', { token: key }))).toEqual([403, 'insufficient_scope']);
});

test('REF-02 reading codes requires read:referral_codes, writing requires write:referral_codes', async () => {
  const client = makeClient(world, { scopes: ['write:referral_codes'] });
  const reader = await tokenOf(client, 'read:referral_codes');
  const stranger = await tokenOf(makeClient(world, { scopes: ['read:explore'] }), 'read:public');
  expect((await world.get('/referral_codes', { token: reader })).status).toBe(200);
  expect(errorOf(await create({}, reader))).toEqual([403, 'insufficient_scope']);
  expect(errorOf(await world.delete('/referral_codes/ref_x', { token: reader }))).toEqual([
    403,
    'insufficient_scope',
  ]);
  expect(errorOf(await world.get('/referral_codes', { token: stranger }))).toEqual([
    403,
    'insufficient_scope',
  ]);
});

test('REF-04 an application can use only its own referral codes', async () => {
  const { id } = (await create()).body.data;
  const other = await tokenOf(makeClient(world, { scopes: ['write:referral_codes'] }));
  expect(errorOf(await world.get(`/referral_codes/${id}`, { token: other }))).toEqual([404, 'not_found']);
  expect(errorOf(await world.delete(`/referral_codes/${id}`, { token: other }))).toEqual([404, 'not_found']);
  expect((await world.get('/referral_codes', { token: other })).body.data).toEqual([]);
  expect(errorOf(await create({ offering_id: 'ofr_no' }))).toEqual([404, 'not_found']);
});

test('REF-05 creating a code rejects a field it does not know, such as a wrapper or a misspelled offering', async () => {
  const offering = company(world).offerings[1];
  for (const body of [{ referral_code: { offering_id: offering } }, { offering }, { offeringId: offering }]) {
    const answer = await create(body);
    expect(errorOf(answer)).toEqual([422, 'validation_error']);
    expect(answer.body.error.message).toContain(Object.keys(body)[0]);
    expect(answer.body.error.details.errors[0].field).toBe(Object.keys(body)[0]);
  }
  expect((await world.get('/referral_codes', { token })).body.data).toEqual([]);
});

test('ERR-16 creating a code without accepted terms returns 422 attribution_terms_required', async () => {
  const organizationNo = makeOrganization(world, 'newcomers');
  const other = await tokenOf(makeClient(world, { organizationNo, scopes: ['write:referral_codes'] }));
  expect(errorOf(await create({}, other))).toEqual([422, 'attribution_terms_required']);
  expect((await world.get('/referral_codes', { token: other })).status).toBe(200);
  const id = 'org_newcomers';
  await world.control('PUT', '/attribution-terms', { organization: id, accepted: true });
  expect((await create({}, other)).status).toBe(201);
});

describe('REF-01 REF-05 the link of a code', () => {
  const opened = (offering: string | undefined, id: string) =>
    new Visitor(world).open(`/invest/${offering}?wfr=${id}`);
  const attributesOf = async (id: string) =>
    (await world.get(`/referral_codes/${id}`, { token })).body.data.attributes;

  test('REF-05 the link of a code works for the offering of the code only, or for any offering of its realm', async () => {
    const [first, second] = company(world).offerings;
    const live = world.ready.live.companies[0]?.offerings[1];
    const bound = (await create({ offering_id: second })).body.data.id;
    const free = (await create()).body.data.id;
    expect((await opened(second, bound)).status).toBe(200);
    expect((await opened(first, bound)).status).toBe(404);
    expect((await opened(first, free)).status).toBe(200);
    expect((await opened(live, free)).status).toBe(404);
    expect((await opened(first, 'ref_no')).status).toBe(404);
  });

  test('REF-05 the link of a code counts a click when it is opened, and an investment when it is completed', async () => {
    const offering = company(world).offerings[1];
    const { id } = (await create()).body.data;
    const link = `/invest/${offering}?wfr=${id}`;
    expect((await world.send('HEAD', link)).status).toBe(200);
    expect(await attributesOf(id)).toMatchObject({ click_count: 0, investment_count: 0 });
    await opened(offering, id);
    expect(await attributesOf(id)).toMatchObject({ click_count: 1, investment_count: 0 });
    const visitor = new Visitor(world);
    await visitor.signIn(link, 'ivan@people.example');
    await visitor.answer(link, { action: 'start' });
    expect(await attributesOf(id)).toMatchObject({ investment_count: 0 });
  });
});

describe('EVT-04 the investment.referred event', () => {
  test('an investment through a referral link sends the event and counts for the code', async () => {
    const heard: PlatformEvent[] = [];
    world.services.events.subscribe((event) => heard.push(event));
    const offering = company(world).offerings[1];
    const { id } = (await create({ offering_id: offering })).body.data;
    const link = `/invest/${offering}?wfr=${id}&utm_source=mail`;
    const visitor = new Visitor(world);
    await visitor.signIn(link, 'ivan@people.example');
    const started = await visitor.answer(link, { action: 'start' });
    const checkout = started.headers.get('location') ?? '';
    expect(checkout).toMatch(/^\/checkout\/cs_/);
    expect((await visitor.answer(link, { action: 'start' })).headers.get('location')).toBe(checkout);
    await visitor.answer(checkout, { action: 'identity', document: 'AB12345' });
    await visitor.answer(checkout, { action: 'fund', amount: '300', card: '4242424242424242' });
    await visitor.answer(checkout, { action: 'complete' });
    const event = heard.find(({ name }) => name === 'investment.referred');
    expect(event?.dataFor({ scopes: new Set(), kind: 'company' })).toEqual({
      id: expect.stringMatching(/^inv_/),
      offering,
      referral_code: id,
      amounts: { committed: 300 },
      occurred_at: '2026-11-02T09:00:00.000Z',
    });
    const { attributes } = (await world.get(`/referral_codes/${id}`, { token })).body.data;
    expect(attributes).toMatchObject({ investment_count: 1 });
    expect(attributes.click_count).toBeGreaterThan(0);
    expect(heard.map(({ name }) => name)).not.toContain('investment_session.completed');
    expect((await world.get('/investment_sessions', { token: company(world).token })).body.data).toEqual([]);
  });

  test('the referred event reaches installations with read:attribution:anonymized', async () => {
    const scopes = ['read:companies', 'read:attribution:anonymized'];
    const told = otherApp(world, { type: 'company', id: company(world).id }, scopes, 'Attributed');
    const untold = otherApp(
      world,
      { type: 'company', id: company(world).id },
      ['read:companies'],
      'Unattributed',
    );
    const { recipientsOf } = await import('../../src/platform/webhooks/audience.js');
    const event: PlatformEvent = {
      name: 'investment.referred',
      realm: 'test',
      at: 0,
      companyNo: 1,
      syndicateNo: null,
      installationNo: null,
      dataFor: () => ({}),
    };
    const { state } = world.services;
    expect(recipientsOf(state, event, told.client.applicationNo).map(({ no }) => no)).toEqual([
      told.installationNo,
    ]);
    expect(recipientsOf(state, event, untold.client.applicationNo)).toEqual([]);
  });
});
