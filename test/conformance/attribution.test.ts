import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as operations from '../../src/platform/contract/attribution.js';
import { run } from '../../src/platform/state/statements.js';
import { makeClient, tokensFor, userNo, userToken, Visitor } from './credentials.js';
import { otherApp, tokenOn } from './installs.js';
import { type Answered, company, type RunningPlatform, startPlatform, user } from './running-platform.js';

let world: RunningPlatform;
let tokens: Record<'aggregate' | 'anonymized' | 'full' | 'none', string>;
let offering: string;
const hour = 3_600_000;

beforeEach(async () => {
  world = await startPlatform({ limits: false });
  offering = company(world).offerings[1] ?? '';
  const app = otherApp(world, { type: 'company', id: company(world).id }, ['read:attribution:full']);
  const of = (...scopes: string[]) => tokenOn(world, app.client, app.installationNo, scopes);
  tokens = {
    aggregate: of('read:attribution:aggregate'),
    anonymized: of('read:attribution:anonymized', 'read:attribution:aggregate'),
    full: app.token,
    none: of('read:companies'),
  };
});
afterEach(() => world.close());

const errorOf = ({ status, body }: Answered): [number, string] => [status, body.error?.type];
const at = (path: string, token: string) =>
  world.get(`/campaigns/${offering}/attribution/${path}`, { token });

async function code(): Promise<string> {
  const { clientId = '', clientSecret = '' } = world.ready.apps[0] ?? {};
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope: 'write:referral_codes',
  });
  const token = (await world.post('/oauth/token', { body })).body.access_token;
  return (await world.post('/referral_codes', { token, body: {} })).body.data.id;
}

async function invest(link: string, email: string, amount: string | null, wait = 0): Promise<void> {
  const visitor = new Visitor(world);
  await visitor.signIn(link, email);
  const started = await visitor.answer(link, { action: 'start' });
  const checkout = started.headers.get('location') ?? '';
  if (amount === null) return;
  world.clock.advance(wait);
  await visitor.signIn(checkout, email).catch(() => undefined);
  await visitor.answer(checkout, { action: 'identity', document: 'AB12345' });
  await visitor.answer(checkout, { action: 'fund', amount, card: '4242424242424242' });
  await visitor.answer(checkout, { action: 'complete' });
}

test('SCOPE-19 the platform counts investments that referrals brought and reports them in three tiers', async () => {
  const id = await code();
  await invest(`/invest/${offering}?wfr=${id}&utm_source=mail&utm_campaign=may`, 'ida@people.example', '500');
  await invest(`/invest/${offering}?wfr=${id}&utm_source=social`, 'ivan@people.example', '20000', 2 * hour);
  await invest(`/invest/${offering}?wfr=${id}`, 'owner@people.example', null);
  const stats = await at('stats', tokens.aggregate);
  operations.attributionStats.responses[200].schema.parse(stats.body);
  expect(stats.body.data).toMatchObject({
    campaign_id: offering,
    period: { start_date: '2026-08-04', end_date: '2026-11-02' },
    totals: { investment_count: 2, total_amount: 20_500, unique_investors: 2, conversion_rate: 2 / 3 },
    quality_breakdown: { direct: 1, assisted: 1, delayed: 0 },
  });
  expect(stats.body.data.by_source).toContainEqual({ name: 'mail', investment_count: 1, total_amount: 500 });
  expect((await at('stats?utm_campaign=may', tokens.aggregate)).body.data.totals.investment_count).toBe(1);
  expect((await at('stats?end_date=2026-10-01', tokens.aggregate)).body.data.totals.investment_count).toBe(0);
  expect((await at('stats?start_date=soon', tokens.aggregate)).status).toBe(400);

  const plain = await at('investments', tokens.anonymized);
  operations.attributionInvestments.responses[200].schema.parse(plain.body);
  expect(plain.body.data[0]).toMatchObject({
    amount_tier: 'large',
    status: { bucket: 'is_ready', progress_bar: true },
    attribution: { utm_source: 'social', time_to_invest_bucket: 'assisted', quality_score: 'medium' },
  });
  expect(plain.body.data[0].investor_token).toHaveLength(32);
  expect(JSON.stringify(plain.body)).not.toMatch(/usr_|inv_|people\.example|20000/);
  expect(plain.body.meta).toMatchObject({ detail_level: 'anonymized', can_view_full: false });
  const full = await at('investments?detail_level=full&per_page=1', tokens.full);
  expect(full.body.data[0]).toMatchObject({ amount: 20_000, investor: { email: 'ivan@people.example' } });
  const rest = await at(`investments?per_page=1&cursor=${full.body.meta.next_cursor}`, tokens.full);
  expect(rest.body.data.map(({ amount_tier: tier }: { amount_tier: string }) => tier)).toEqual(['small']);
});

/** Returns the newest referred investment, with the investor and without. */
async function newest(of = offering) {
  const read = async (level: string) =>
    (
      await world.get(`/campaigns/${of}/attribution/investments?detail_level=${level}`, {
        token: tokens.full,
      })
    ).body.data[0];
  return { full: await read('full'), anonymized: await read('anonymized') };
}

describe('a referred investment', () => {
  beforeEach(async () => {
    await invest(`/invest/${offering}?wfr=${await code()}`, 'ida@people.example', '500');
  });
  const change = (set: string, ...values: readonly (string | number | null)[]) =>
    run(
      world.services.state,
      `UPDATE investments SET ${set} WHERE no = (SELECT max(no) FROM investments)`,
      values,
    );

  test.each([
    ['small', 99_999],
    ['medium', 100_000],
    ['medium', 999_999],
    ['large', 1_000_000],
  ])('SCOPE-19 is %s with a commitment of %i cents', async (tier, cents) => {
    change('committed_cents = ?', cents);
    expect((await newest()).anonymized.amount_tier).toBe(tier);
    expect((await newest()).full.amount).toBe(cents / 100);
  });

  test.each([
    ['direct', 'high', hour],
    ['assisted', 'medium', hour + 1],
    ['assisted', 'medium', 24 * hour],
    ['delayed', 'low', 24 * hour + 1],
  ])('SCOPE-19 is %s, of %s quality, when it came %i ms after the click', async (pace, quality, took) => {
    change('applied_at = (SELECT max(clicked_at) FROM session_sources) + ?', took);
    expect((await newest()).anonymized.attribution).toMatchObject({
      time_to_invest_bucket: pace,
      quality_score: quality,
    });
    expect((await at('stats', tokens.aggregate)).body.data.quality_breakdown).toEqual({
      ...{ direct: 0, assisted: 0, delayed: 0 },
      [pace]: 1,
    });
  });

  test.each([
    ['draft', 'group_label = NULL', false],
    ['no_payment_yet', "group_label = 'NO PAYMENT YET'", false],
    ['pending', "group_label = 'PENDING'", false],
    ['is_ready', "group_label = 'IS READY'", true],
    ['confirmed', "group_label = 'CONFIRMED'", true],
    ['canceled', "status = 'canceled'", false],
    ['canceled', "status = 'converted'", false],
    ['canceled', 'deleted_at = 1', false],
  ])('SCOPE-19 is in the bucket %s with %s', async (bucket, set, progress_bar) => {
    change(set);
    expect((await newest()).anonymized.status).toEqual({ bucket, progress_bar });
  });

  test('SCOPE-19 has tokens for the investment and the investor that are the same in one offering and in no other', async () => {
    const first = (await newest()).anonymized;
    await invest(`/invest/${offering}?wfr=${await code()}`, 'ida@people.example', '600');
    const second = (await newest()).anonymized;
    expect(second.investor_token).toBe(first.investor_token);
    expect(second.investment_token).not.toBe(first.investment_token);
    expect((await at('investments', tokens.full)).body.data[1]).toMatchObject({
      investor_token: first.investor_token,
      investment_token: first.investment_token,
    });
    const other = company(world).offerings[0] ?? '';
    await invest(`/invest/${other}?wfr=${await code()}`, 'ida@people.example', '700');
    expect((await newest(other)).full.investor.email).toBe('ida@people.example');
    expect((await newest(other)).anonymized.investor_token).not.toBe(first.investor_token);
    const { totals } = (await at('stats', tokens.aggregate)).body.data;
    expect(totals).toMatchObject({ investment_count: 2, unique_investors: 1 });
  });

  test('SCOPE-19 counts the other links that the same person followed, each once', async () => {
    const competing = async () => (await newest()).anonymized.attribution.competing_sources;
    expect(await competing()).toBe(0);
    const second = `/invest/${offering}?wfr=${await code()}`;
    for (const amount of [null, '600', '700']) await invest(second, 'ida@people.example', amount);
    expect(await competing()).toBe(1);
    await invest(`/invest/${offering}?wfr=${await code()}`, 'ivan@people.example', null);
    expect(await competing()).toBe(1);
    await invest(`/invest/${offering}?wfr=${await code()}`, 'ida@people.example', null);
    expect(await competing()).toBe(2);
  });

  test('SCOPE-19 has no name and no address of a person whose account was closed', async () => {
    const { full } = await newest();
    expect((await world.control('POST', `/users/${full.investor.id}/deactivate`)).status).toBe(200);
    const { investor } = (await newest()).full;
    expect(investor).toMatchObject({ id: full.investor.id, name: '[deleted user]', email: null });
    expect(JSON.stringify(investor)).not.toMatch(/ida/i);
  });

  test('SCOPE-19 a token for all tiers may view it in full, whatever it asks for', async () => {
    const can = async (token: string) => (await at('investments', token)).body.meta.can_view_full;
    expect([await can(tokens.full), await can(tokens.anonymized)]).toEqual([true, false]);
    const levels = async (token: string) =>
      (await world.get('/attribution/campaigns', { token })).body.data.map(
        (one: { access_level: number }) => one.access_level,
      );
    expect(new Set(await levels(tokens.full))).toEqual(new Set([2]));
    expect(new Set(await levels(tokens.aggregate))).toEqual(new Set([1]));
  });
});

test('SCOPE-03 SCOPE-19 each attribution tier requires its scope and access to the offering', async () => {
  expect(errorOf(await at('stats', tokens.none))).toEqual([403, 'insufficient_scope']);
  expect(errorOf(await at('investments', tokens.aggregate))).toEqual([403, 'insufficient_scope']);
  expect(errorOf(await at('investments?detail_level=full', tokens.anonymized))).toEqual([
    403,
    'insufficient_scope',
  ]);
  for (const path of ['stats', 'investments']) expect((await at(path, tokens.full)).status).toBe(200);
  const other = `/campaigns/${company(world, 1).offering}/attribution/stats`;
  expect(errorOf(await world.get(other, { token: tokens.full }))).toEqual([403, 'forbidden']);
  expect((await world.get('/campaigns/ofr_no/attribution/stats', { token: tokens.full })).status).toBe(404);
  const listed = await world.get('/attribution/campaigns', { token: tokens.full });
  operations.attributionCampaigns.responses[200].schema.parse(listed.body);
  expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual(company(world).offerings);
});

test('SCOPE-19 a person applies as a partner, and either side can invite the other', async () => {
  const client = makeClient(world, { scopes: ['read:attribution:full', 'write:attribution'] });
  const as = (email: string) =>
    userToken(world, client, email, ['read:attribution:full', 'write:attribution']);
  const ida = as('ida@people.example');
  const founderEmail = 'founder1@people.example';
  const founder = as(founderEmail);
  const me = () => world.get('/attribution/me', { token: ida });
  expect((await me()).body.data).toEqual({
    user: { id: user(world, 4).id, name: 'Ida Investor' },
    partner: null,
  });
  const body = { company_name: 'Ida Media', website: 'https://ida.example' };
  const register = () => world.post('/attribution/partners/register', { token: ida, body });
  expect((await register()).status).toBe(201);
  expect(errorOf(await register())).toEqual([409, 'conflict']);
  expect((await me()).body.data.partner).toMatchObject({ status: 'pending', company_name: 'Ida Media' });

  const invite = (token: string, more: object) =>
    world.post('/attribution/invites', { token, body: { company_id: company(world).id, ...more } });
  const ask = { direction: 'partner_to_founder' };
  expect(errorOf(await invite(ida, ask))).toEqual([403, 'forbidden']);
  run(world.services.state, `UPDATE attribution_partners SET status = 'approved' WHERE user_no = ?`, [
    userNo(world, 'ida@people.example'),
  ]);
  expect((await invite(ida, ask)).body.data).toMatchObject({ status: 'pending', access_level: 1 });
  const offer = { direction: 'founder_to_partner', partner_email: 'ida@people.example', access_level: 2 };
  expect(errorOf(await invite(ida, offer))).toEqual([403, 'forbidden']);
  expect(errorOf(await invite(founder, { direction: 'founder_to_partner' }))).toEqual([
    422,
    'validation_error',
  ]);
  const made = await invite(founder, offer);
  operations.createAttributionInvite.responses[201].schema.parse(made.body);
  const path = `/attribution/invites/${made.body.data.token}`;
  expect((await world.delete(path, { token: ida })).status).toBe(404);
  expect((await world.delete(path, { token: founder })).status).toBe(204);
  const list = await world.get('/attribution/invites', { token: founder });
  expect(list.body.data).toEqual([{ ...made.body.data, status: 'revoked' }]);
  const again = (await invite(founder, offer)).body.data;
  const listed = async () => (await world.get('/attribution/invites', { token: as(founderEmail) })).body.data;
  world.clock.advance(30 * 24 * hour - 1);
  expect((await listed())[0]).toEqual(again);
  world.clock.advance(1);
  expect((await listed())[0]).toEqual({ ...again, status: 'expired' });
  const elsewhere = userToken(world, makeClient(world, { scopes: ['write:attribution'] }), founderEmail, [
    'write:attribution',
  ]);
  expect((await world.delete(`/attribution/invites/${again.token}`, { token: elsewhere })).status).toBe(404);
  expect(errorOf(await world.get('/attribution/me', { token: tokens.full }))).toEqual([403, 'forbidden']);
});

describe('the attribution program of the ready document', () => {
  test.each(['token', 'liveToken'] as const)(
    'SCOPE-19 SCOPE-24 every operation succeeds with the tokens of the ready document (%s)',
    async (realm) => {
      const { attribution, live, companies } = world.ready;
      const home = realm === 'token' ? companies[0] : live.companies[0];
      const [founder, partner, ida] = attribution.users.map((person) => person[realm]);
      const round = `/campaigns/${home?.offering}/attribution`;
      for (const credential of [attribution[realm], founder ?? '']) {
        expect((await world.get(`${round}/stats`, { token: credential })).status).toBe(200);
        const path = `${round}/investments?detail_level=full`;
        expect((await world.get(path, { token: credential })).status).toBe(200);
        const campaigns = await world.get('/attribution/campaigns', { token: credential });
        expect(campaigns.body.data.map(({ id }: { id: string }) => id)).toEqual(home?.offerings);
      }
      const me = (await world.get('/attribution/me', { token: partner ?? '' })).body.data;
      expect(me.partner).toMatchObject({ status: 'approved' });
      const body = { company_name: 'Ida Media', website: 'https://ida.example' };
      expect((await world.post('/attribution/partners/register', { token: ida ?? '', body })).status).toBe(
        201,
      );
      const asked = await world.post('/attribution/invites', {
        token: partner ?? '',
        body: { direction: 'partner_to_founder', company_id: home?.id, access_level: 1 },
      });
      expect(asked.status).toBe(201);
      const invites = await world.get('/attribution/invites', { token: partner ?? '' });
      expect(invites.body.data).toHaveLength(1);
      const revoked = await world.delete(`/attribution/invites/${asked.body.data.token}`, {
        token: partner ?? '',
      });
      expect(revoked.status).toBe(204);
    },
  );

  test('SCOPE-24 a control call assigns program scopes to an application, and takes them away', async () => {
    const client = makeClient(world, { scopes: ['read:profile'] });
    const asked = { scope: 'read:attribution:full' };
    const assign = (programScopes: readonly string[]) =>
      world.control('PATCH', `/applications/${client.clientId}`, { programScopes });
    const granted = await assign(['read:attribution:full', 'write:attribution']);
    expect(granted.body.scopes).toEqual(['read:profile', 'read:attribution:full', 'write:attribution']);
    const { access_token: token, scope } = await tokensFor(world, client, 'founder1@people.example', asked);
    expect(scope).toBe('read:attribution:full');
    expect((await world.get('/attribution/me', { token })).status).toBe(200);
    expect((await assign([])).body.scopes).toEqual(['read:profile']);
    expect((await world.get('/attribution/me', { token })).status).toBe(401);
    expect((await assign(['admin:read'])).status).toBe(400);
  });

  test('a control call decides about a partner', async () => {
    const [, , ida] = world.ready.attribution.users;
    const token = ida?.token ?? '';
    const decide = (status: string) => world.control('PATCH', `/attribution/partners/${ida?.id}`, { status });
    expect((await decide('approved')).status).toBe(404);
    const body = { company_name: 'Ida Media', website: 'https://ida.example' };
    await world.post('/attribution/partners/register', { token, body });
    expect((await decide('approved')).body).toEqual({ user: ida?.id, status: 'approved' });
    expect((await world.get('/attribution/me', { token })).body.data.partner.status).toBe('approved');
  });
});
