import { afterAll, beforeAll, expect, test } from 'vitest';
import { listCampaigns } from '../../src/platform/contract/campaigns.js';
import { run } from '../../src/platform/state/statements.js';
import {
  companyOf,
  conforms,
  errorOf,
  follow,
  ida,
  personToken,
  publishableKey,
  roundOf,
  roundsOf,
} from './catalog.js';
import { company, type RunningPlatform, startPlatform } from './running-platform.js';

// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
type Item = any;

let world: RunningPlatform;
beforeAll(async () => {
  world = await startPlatform({ limits: false });
});
afterAll(() => world.close());

const ids = (items: readonly Item[]): string[] => items.map((item) => item.id).sort();
const own = () =>
  roundsOf(world, 'sandbox-company-1')
    .map((round) => round.id)
    .sort();
const read = (token: string, query = '', version = '2026-10-15') =>
  world.get(`/campaigns${query}`, { token, headers: { 'Service-Version': version } });

test('CAMP-01 SCOPE-12 a founder lists the rounds of the company, in one order with any page size', async () => {
  const founder = personToken(world, 'founder1@people.example', 'read:companies');
  const { body } = conforms(listCampaigns, await read(founder));
  expect(body.meta).toEqual({ has_more: false, page_count: 4, next_cursor: null });
  expect(ids(body.data)).toEqual(own());
  expect(await follow(world, '/campaigns?per_page=1', founder)).toEqual(body.data);
});

test('CAMP-01 CAMP-02 campaigns come newest first, each updated when its round last opened or closed', async () => {
  const founder = personToken(world, 'founder1@people.example', 'read:companies');
  const { data } = (await read(founder)).body;
  const created = data.map(({ attributes }: Item) => attributes.created_at);
  expect(created).toEqual([...created].sort().reverse());
  expect(new Set(created).size).toBeGreaterThan(1);
  const closed = data.find(({ attributes }: Item) => attributes.state === 'closed').attributes;
  expect(closed.updated_at).toBe(closed.closed_at);
  expect(closed.updated_at).not.toBe(closed.created_at);
});

test('CAMP-02 CONV-15 a campaign names its company, also by the documented integer key, and when it closed', async () => {
  const founder = personToken(world, 'founder1@people.example', 'read:companies');
  const { body } = conforms(listCampaigns, await read(founder));
  const { no, id } = companyOf(world, 'sandbox-company-1');
  const states = [];
  for (const item of body.data) {
    expect(item.type).toBe('campaign');
    expect(item.attributes).toMatchObject({
      company_id: no,
      company: id,
      company_name: company(world).name,
      company_url: 'sandbox-company-1',
    });
    expect(item).not.toHaveProperty('no');
    const { state, closed_at } = item.attributes;
    expect(closed_at === null).toBe(state === 'active');
    states.push(state);
  }
  expect(states.sort()).toEqual(['active', 'active', 'active', 'closed']);
});

test('CAMP-02 CONV-07 the id of a campaign starts with ofr_, and that of its company with co_', async () => {
  const founder = personToken(world, 'founder1@people.example', 'read:companies');
  const { data } = (await read(founder)).body;
  expect(data.length).toBeGreaterThan(0);
  for (const { id, attributes } of data) {
    expect(id).toMatch(/^ofr_[A-Za-z0-9]{22}$/);
    expect(attributes.company).toMatch(/^co_[A-Za-z0-9]{22}$/);
  }
});

test('CAMP-02 CONV-16 a campaign shows the same amounts and investor count as the offering stats', async () => {
  const { token } = company(world);
  for (const item of (await read(token)).body.data) {
    const { total } = (await world.get(`/offerings/${item.id}/stats`, { token })).body.data;
    expect(item.attributes.amount_raised_cents).toBe(total.raised_cents);
    expect(item.attributes.amount_raised).toBe(total.raised_cents / 100);
  }
});

test('CAMP-03 a campaign is active, closed, upcoming or canceled', async () => {
  const founder = personToken(world, 'founder1@people.example', 'read:companies');
  const { no, id } = roundOf(world, 'sandbox-company-1');
  for (const [status, state] of [
    ['open', 'active'],
    ['closed', 'closed'],
    ['upcoming', 'upcoming'],
    ['canceled', 'canceled'],
  ] as const) {
    run(world.services.state, 'UPDATE offerings SET status = ? WHERE no = ?', [status, no]);
    expect((await read(founder)).body.data.find((item: Item) => item.id === id).attributes.state).toBe(state);
  }
  run(world.services.state, `UPDATE offerings SET status = 'open' WHERE no = ?`, [no]);
});

test('VERS-15 since 2026-10-15 a team member without edit access sees no campaigns', async () => {
  const admin = personToken(world, 'admin1@people.example', 'read:companies');
  expect(ids((await read(admin, '', '2026-10-01')).body.data)).toEqual(own());
  expect((await read(admin)).body.data).toEqual([]);
});

test('CAMP-03 an installation reads the campaigns of its company and of no other', async () => {
  expect(ids((await read(company(world).token)).body.data)).toEqual(own());
  expect((await read(personToken(world, ida, 'read:companies'))).body.data).toEqual([]);
});

test('CAMP-01 OAUTH-26 the campaigns endpoint refuses callers without a credential, the scope or a company', async () => {
  expect(errorOf(await world.get('/campaigns'))).toEqual([401, 'unauthorized']);
  expect(errorOf(await read(publishableKey(world)))).toEqual([403, 'insufficient_scope']);
  expect(errorOf(await read(personToken(world, ida, 'read:profile')))).toEqual([403, 'insufficient_scope']);
  expect(errorOf(await read(world.ready.syndicates[0]?.token ?? ''))).toEqual([403, 'forbidden']);
});
