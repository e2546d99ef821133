import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { one, run } from '../../src/platform/state/statements.js';
import {
  deleteDraft,
  deleteDraftRefusal,
  publishRefusal,
  publishSyndicate,
} from '../../src/platform/syndicates/lifecycle.js';
import { syndicateByNo } from '../../src/platform/syndicates/model.js';
import { works } from './credentials.js';
import { company, type RunningPlatform, startPlatform } from './running-platform.js';
import {
  applicationToken,
  foundSyndicate,
  makePerson,
  openDeal,
  syndicateKey,
  type TestSyndicate,
} from './syndicate-life.js';

let world: RunningPlatform;
let syndicate: TestSyndicate;

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  syndicate = foundSyndicate(world);
});
afterAll(() => world.close());

const iso = () => new Date(world.services.clock.now()).toISOString();

describe('reading syndicates', () => {
  async function wholeSyndicate() {
    const own = foundSyndicate(world);
    own.add('Mia Member');
    own.add('Ada Applicant', 'applicant');
    openDeal(world, own);
    openDeal(world, own, 'closed');
    const { id } = company(world);
    const no =
      one<{ no: number }>(world.services.state, 'SELECT no FROM companies WHERE id = ?', [id])?.no ?? 0;
    own.set({ primary_fund_company_no: no, tagline: 'Together', avatar_url: 'https://img.example/a.png' });
    const answer = await world.get(own.path, { token: own.creatorToken });
    return { own, id, no, answer };
  }

  test('SYN-06 the switches of a syndicate are shown as they are set', async () => {
    const own = foundSyndicate(world);
    const read = async () => (await world.get(own.path, { token: own.creatorToken })).body.data.attributes;
    for (const field of [
      'published',
      'launched',
      'membership_open',
      'auto_accept_accredited_members',
      'auto_approve_join_sessions',
      'fund_required',
    ] as const) {
      for (const on of [1, 0]) {
        own.set({ [field]: on });
        expect([field, (await read())[field]]).toEqual([field, on === 1]);
      }
    }
  });

  test('SYN-03 SYN-04 SYN-08 a syndicate returns its whole record', async () => {
    const { own, id, no, answer } = await wholeSyndicate();
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({
      id: own.id,
      type: 'syndicate',
      attributes: {
        name: expect.stringMatching(/^Life/),
        slug: expect.stringMatching(/^life-/),
        tagline: 'Together',
        description: 'Invests.',
        avatar_url: 'https://img.example/a.png',
        published: true,
        launched: false,
        membership_open: false,
        syndicate_type: null,
        auto_accept_accredited_members: false,
        auto_approve_join_sessions: false,
        fund_required: false,
        // The creator and Mia; an applicant is not a member yet. One of the two deals is live.
        member_count: 2,
        deal_count: 1,
        primary_fund_company_id: no,
        primary_fund_company: id,
        created_by_user_id: own.creator.person.no,
        created_by: own.creator.person.id,
        created_at: iso(),
        updated_at: iso(),
      },
    });
  });

  test('SYN-05 SYN-07 each type of syndicate shows only its own terms', async () => {
    const own = foundSyndicate(world);
    own.set({
      syndicate_type: 'annual_subscription',
      fund_investment_cents: 500_000,
      deals_per_year: 12,
      deal_cents: 41_666,
    });
    const read = async () => (await world.get(own.path, { token: own.creatorToken })).body.data.attributes;
    expect(await read()).toMatchObject({
      syndicate_type: 'annual_subscription',
      annual_subscription: { fund_investment_amount: '5000', deals_per_year: 12, amount_per_deal: '416' },
    });
    expect(await read()).not.toHaveProperty('traditional_fund');
    own.set({
      syndicate_type: 'traditional_fund',
      require_minimum_investment: 1,
      minimum_investment_cents: 1_000_000,
    });
    expect(await read()).toMatchObject({
      traditional_fund: { require_minimum_investment: true, minimum_investment_amount: '10000' },
    });
    expect(await read()).not.toHaveProperty('annual_subscription');
  });

  test('SYN-01 SCOPE-17 reading requires read:syndicates, writing write:syndicates, which includes reading', async () => {
    const reader = syndicate.token(syndicate.creator, ['read:syndicates']);
    const writer = syndicate.token(syndicate.creator, ['write:syndicates']);
    const neither = syndicate.token(syndicate.creator, [
      'read:companies',
      'read:investments',
      'write:syndicate_members',
    ]);
    const change = { body: { syndicate: { tagline: 'New' } } };
    for (const path of [
      '/syndicates',
      syndicate.path,
      `${syndicate.path}/members`,
      `${syndicate.path}/deals`,
    ]) {
      expect((await world.get(path, { token: reader })).status).toBe(200);
      expect((await world.get(path, { token: writer })).status).toBe(200);
      const refused = await world.get(path, { token: neither });
      expect([refused.status, refused.body.error.type]).toEqual([403, 'insufficient_scope']);
      expect((await world.get(path)).status).toBe(401);
    }
    const refused = await world.patch(syndicate.path, { token: reader, ...change });
    expect([refused.status, refused.body.error.type]).toEqual([403, 'insufficient_scope']);
    expect((await world.patch(syndicate.path, { token: writer, ...change })).status).toBe(200);
  });

  test('SYN-02 SCOPE-17 the list returns only the syndicates a person manages, in pages of 25', async () => {
    const operator = foundSyndicate(world).add('Op', 'operator').person;
    const mine: string[] = [];
    for (let count = 0; count < 30; count += 1) {
      const own = foundSyndicate(world);
      run(world.services.state, `INSERT INTO syndicate_managers VALUES (?, ?, 'operator')`, [
        own.no,
        operator.no,
      ]);
      mine.push(own.id);
    }
    const token = syndicate.token({ person: operator });
    const first = await world.get('/syndicates', { token });
    expect(first.body.meta).toEqual({ has_more: true, page_count: 25, next_cursor: expect.any(String) });
    const rest = await world.get(`/syndicates?cursor=${first.body.meta.next_cursor}`, { token });
    expect(rest.body.meta).toEqual({ has_more: false, page_count: 6, next_cursor: null });
    const listed = [...first.body.data, ...rest.body.data].map((row: { id: string }) => row.id);
    expect(listed.slice(1)).toEqual(mine);
    expect(new Set(listed).size).toBe(31);
    expect((await world.get('/syndicates?per_page=1000', { token })).body.data).toHaveLength(31);
    expect((await world.get('/syndicates?per_page=2', { token })).body.data).toHaveLength(2);
    expect((await world.get('/syndicates?per_page=0', { token })).body.data).toHaveLength(25);
    const member = syndicate.add('Only Member');
    const none = await world.get('/syndicates', { token: syndicate.token(member) });
    expect(none.body).toEqual({ data: [], meta: { has_more: false, page_count: 0, next_cursor: null } });
  });

  test('SYN-02 a cursor works only for its own reader and listing; any other is an invalid parameter', async () => {
    const own = foundSyndicate(world);
    for (const name of ['A', 'B', 'C']) own.add(name);
    const token = own.creatorToken;
    const page = await world.get(`${own.path}/members?per_page=2`, { token });
    const { next_cursor: cursor } = page.body.meta;
    const operator = own.token(own.add('Other', 'operator'));
    const stretched = `${cursor}AAAA`;
    for (const [path, who] of [
      [`${own.path}/members?cursor=${cursor}`, operator],
      [`${own.path}/members?sort=newest&cursor=${cursor}`, token],
      [`/syndicates?cursor=${cursor}`, token],
      [`${own.path}/members?cursor=${stretched}`, token],
      [`${own.path}/members?cursor=p_`, token],
      [`${own.path}/deals?cursor=nonsense`, token],
    ] as const) {
      const answer = await world.get(path, { token: who });
      expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_parameter']);
      expect(answer.body.error.details).toEqual({ parameter: 'cursor' });
    }
    expect((await world.get(`${own.path}/members?cursor=${cursor}`, { token })).status).toBe(200);
  });

  test('SYN-03 SEC-14 a credential bound to another target and a stranger are refused, and a stranger does not find a draft', async () => {
    const other = foundSyndicate(world);
    const refusals = [
      [other.installationToken, 403, 'forbidden'],
      [syndicateKey(world, other), 403, 'forbidden'],
      [company(world).token, 403, 'forbidden'],
      [syndicate.token({ person: makePerson(world, 'Stranger') }), 403, 'forbidden'],
      [applicationToken(world, syndicate, ['read:public']), 403, 'insufficient_scope'],
      [world.ready.apps[0]?.clientId ?? '', 403, 'insufficient_scope'],
    ] as const;
    for (const [token, status, type] of refusals) {
      const answer = await world.get(syndicate.path, { token });
      expect([answer.status, answer.body.error.type]).toEqual([status, type]);
    }
    other.set({ published: 0 });
    const hidden = await world.get(other.path, { token: syndicate.creatorToken });
    expect([hidden.status, hidden.body.error.type]).toEqual([404, 'not_found']);
    expect((await world.get(other.path, { token: other.installationToken })).status).toBe(200);
    expect((await world.get('/syndicates/syn_nothing', { token: syndicate.creatorToken })).status).toBe(404);
  });

  test('SEC-14 an installation and a key list the one syndicate they are bound to, a company install lists none', async () => {
    for (const token of [syndicate.installationToken, syndicateKey(world, syndicate)]) {
      const { body } = await world.get('/syndicates', { token });
      expect(body.data.map((row: { id: string }) => row.id)).toEqual([syndicate.id]);
    }
    expect((await world.get('/syndicates', { token: company(world).token })).body.data).toEqual([]);
  });

  test('SYN-03 a test token cannot find a live syndicate, nor a live token a test one', async () => {
    const live = foundSyndicate(world, 'live');
    expect((await world.get(live.path, { token: live.creatorToken })).status).toBe(200);
    expect((await world.get(live.path, { token: syndicate.creatorToken })).status).toBe(404);
    expect((await world.get(syndicate.path, { token: live.creatorToken })).status).toBe(404);
  });
});

describe('changing a syndicate', () => {
  test('SYN-09 SYN-10 VERS-19 an operator changes name, tagline and description, and nothing else', async () => {
    const own = foundSyndicate(world);
    const operator = own.token(own.add('Op', 'operator'));
    world.clock.advance(60_000);
    const body = { syndicate: { name: ' New Name ', tagline: '', published: false, slug: 'stolen' } };
    const answer = await world.patch(own.path, { token: operator, body });
    expect(answer.status).toBe(200);
    expect(answer.body.data.attributes).toMatchObject({
      name: 'New Name',
      tagline: null,
      description: 'Invests.',
      published: true,
      slug: expect.stringMatching(/^life-/),
      updated_at: iso(),
    });
    const read = await world.get(own.path, { token: operator });
    expect(read.body).toEqual(answer.body);
    const older = await world.patch(own.path, {
      token: operator,
      body: { syndicate: { description: null } },
      headers: { 'service-version': '2026-10-01' },
    });
    expect(older.body.data.attributes.description).toBeNull();
  });

  test('SYN-10 an ordinary member may not change the syndicate', async () => {
    const own = foundSyndicate(world);
    const token = own.token(own.add('Mia'));
    const answer = await world.patch(own.path, { token, body: { syndicate: { name: 'Mine' } } });
    expect([answer.status, answer.body.error.type]).toEqual([403, 'forbidden']);
    expect((await world.get(own.path, { token })).body.data.attributes.name).toMatch(/^Life/);
  });

  test('SYN-10 ERR-05 an invalid change lists the errors by field and changes nothing', async () => {
    const cases: [unknown, string][] = [
      [{}, 'syndicate'],
      [{ syndicate: 'x' }, 'syndicate'],
      [{ syndicate: { name: '' } }, 'syndicate.name'],
      [{ syndicate: { name: 7 } }, 'syndicate.name'],
      [{ syndicate: { name: 'x'.repeat(121) } }, 'syndicate.name'],
      [{ syndicate: { tagline: 'x'.repeat(201) } }, 'syndicate.tagline'],
      [[], ''],
    ];
    for (const [body, field] of cases) {
      const answer = await world.patch(syndicate.path, { token: syndicate.creatorToken, body });
      expect([answer.status, answer.body.error.type]).toEqual([422, 'validation_error']);
      expect(answer.body.error.details).toEqual({
        errors: [{ field, code: expect.any(String), message: expect.any(String) }],
      });
    }
    const broken = await world.patch(syndicate.path, {
      token: syndicate.creatorToken,
      body: '{',
      headers: { 'content-type': 'application/json' },
    });
    expect(broken.status).toBe(400);
  });
});

describe('statistics of a syndicate', () => {
  test('SYN-01 SYN-08 the statistics of a syndicate are computed from its members, deals, investments and activity', async () => {
    const own = foundSyndicate(world);
    const mia = own.add('Mia');
    const max = own.add('Max', 'operator');
    own.add('Ada', 'applicant');
    own.add('Eve', 'exiled');
    own.add('Rex', 'resigned');
    own.add('Gone', 'removed');
    const deal = openDeal(world, own);
    const past = openDeal(world, own, 'closed');
    await deal.invest(mia.person, 100_050, { group: 'IS READY' });
    await deal.invest(max.person, 50_000);
    await past.invest(mia.person, 200_000, { status: 'executed' });
    await past.invest(mia.person, 900_000, { status: 'reserved' });
    const token = own.creatorToken;
    await world.post(`${own.path}/members/${mia.id}/hide`, { token });
    await world.post(`${own.path}/members/${mia.id}/restore`, { token });
    const { body } = await world.get(`${own.path}/statistics`, { token });
    expect(body.data).toEqual({
      type: 'syndicate_statistics',
      attributes: {
        total_members: 4,
        members_by_role: { applicant: 1, creator: 1, exiled: 1, manager: 1, member: 1, resigned: 1 },
        total_deals: 2,
        live_deals: 1,
        total_raised: '3000',
        total_raised_cents: 300_050,
        total_investors: 2,
        recent_activity_count: 2,
      },
    });
    world.clock.advance(31 * 86_400_000);
    const later = await world.get(`${own.path}/statistics`, { token: own.token(own.creator) });
    expect(later.body.data.attributes.recent_activity_count).toBe(0);
    world.clock.advance(-31 * 86_400_000);
    const member = await world.get(`${own.path}/statistics`, { token: own.token(mia) });
    expect([member.status, member.body.error.type]).toEqual([403, 'forbidden']);
  });
});

describe('actions that need a person’s approval', () => {
  test('publishing makes a draft public once its required fields are set', async () => {
    const own = foundSyndicate(world);
    own.set({ published: 0, description: null });
    const { services } = world;
    const now = services.clock.now();
    expect(publishRefusal(syndicateByNo(services.state, own.no))).toMatch(/description/);
    own.set({ description: 'Invests.' });
    expect(publishRefusal(syndicateByNo(services.state, own.no))).toBeNull();
    publishSyndicate(services, own.no, own.creator.person.no, now);
    expect((await world.get(own.path, { token: own.creatorToken })).body.data.attributes).toMatchObject({
      published: true,
      launched: true,
    });
    expect(publishRefusal(syndicateByNo(services.state, own.no))).toMatch(/published already/);
  });

  test('deleting a draft removes it and everything that depends on it for every caller', async () => {
    const own = foundSyndicate(world);
    const { services } = world;
    const refusal = () => deleteDraftRefusal(services, syndicateByNo(services.state, own.no));
    expect(refusal()).toMatch(/only a draft/);
    own.set({ published: 0 });
    const session = await world.post(`${own.path}/join_sessions`, {
      token: own.creatorToken,
      body: { join_session: { email: 'guest@people.example' } },
    });
    openDeal(world, own, 'upcoming');
    expect(refusal()).toBeNull();
    deleteDraft(services, own.no, own.creator.person.no, services.clock.now());
    expect((await world.get(own.path, { token: own.creatorToken })).status).toBe(404);
    expect((await world.get('/syndicates', { token: own.creatorToken })).body.data).toEqual([]);
    expect(await works(world, own.installationToken)).toBe(false);
    const page = new URL(session.body.data.attributes.url);
    expect((await world.get(page.pathname)).status).toBe(410);
  });

  test('a draft with money in it cannot be deleted', async () => {
    const own = foundSyndicate(world);
    own.set({ published: 0 });
    const deal = openDeal(world, own, 'closed');
    await deal.invest(own.creator.person, 1000, { status: 'executed' });
    expect(deleteDraftRefusal(world.services, syndicateByNo(world.services.state, own.no))).toMatch(
      /investments/,
    );
  });
});
