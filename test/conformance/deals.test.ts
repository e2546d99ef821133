import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DealProposal } from '../../src/platform/deals/ports.js';
import { dealRoutes } from '../../src/platform/deals/routes.js';
import { mintFor } from '../../src/platform/installations/install.js';
import { installationByNo } from '../../src/platform/installations/model.js';
import { listen } from '../../src/platform/platform.js';
import { one, run } from '../../src/platform/state/statements.js';
import { makeCompany } from './credentials.js';
import { type Answered, type RunningPlatform, startPlatform } from './running-platform.js';
import { foundSyndicate, makePerson, openDeal, type TestSyndicate } from './syndicate-life.js';

let world: RunningPlatform;
beforeAll(async () => {
  world = await startPlatform({ limits: false });
});
afterAll(() => world.close());

const refusal = (answer: Answered) => [answer.status, answer.body.error.type];
const get = (syndicate: TestSyndicate, path: string, token = syndicate.creatorToken) =>
  world.get(`${syndicate.path}/deals${path}`, { token });
/** Sets the terms of the round where the catalog stores them. */
const terms = (deal: { readonly no: number }, { target, min }: { target: number; min?: number }) =>
  run(
    world.services.state,
    `INSERT INTO offering_terms (offering_no, exemption, funding_target_cents, min_investment_cents)
     VALUES (?, 'reg_cf', ?, ?)`,
    [deal.no, target, min ?? null],
  );
const older = { 'service-version': '2026-10-01' };

describe('reading deals', () => {
  test('DEAL-01 a deal returns its whole record, with its money computed from the investments', async () => {
    const syndicate = foundSyndicate(world);
    const deal = openDeal(world, syndicate);
    terms(deal, { target: 5_000_000, min: 100_000 });
    run(
      world.services.state,
      `INSERT INTO deal_terms (offering_no, name, description, max_investment_cents, updated_at)
       VALUES (?, 'Series A', 'Bold.', 900050, 0)`,
      [deal.no],
    );
    await deal.invest(makePerson(world, 'One'), 100_075, { group: 'IS READY' });
    await deal.invest(makePerson(world, 'Two'), 200_000, { status: 'executed' });
    await deal.invest(makePerson(world, 'Three'), 400_000);
    await deal.invest(makePerson(world, 'Four'), 800_000, { status: 'canceled' });
    const { status, body } = await get(syndicate, `/${deal.id}`);
    expect(status).toBe(200);
    const started = new Date(world.services.clock.now()).toISOString();
    expect(body.data).toEqual({
      id: deal.id,
      type: 'syndicate_deal',
      attributes: {
        name: 'Series A',
        status: 'open',
        company_name: expect.stringMatching(/^Deal Company/),
        company_id: deal.company.no,
        company: deal.company.id,
        company_url: expect.stringMatching(/^deal-company-/),
        company_logo_url: null,
        amount_raised: '3000',
        investor_count: 3,
        // In cents, unlike the fields around it.
        funding_target: '5000000',
        exemption: 'Reg CF',
        security: 'SAFE',
        min_investment: '1000',
        max_investment: '9000',
        description: 'Bold.',
        created_at: started,
        updated_at: new Date(0).toISOString(),
        closed_at: null,
        funding_started_at: started,
      },
    });
  });

  test('DEAL-01 a changed investment changes the deal, the member and the syndicate at once', async () => {
    const syndicate = foundSyndicate(world);
    const mia = syndicate.add('Mia');
    const deal = openDeal(world, syndicate);
    const investment = await deal.invest(mia.person, 100_000, { group: 'IS READY' });
    const seen = async () => {
      const member = await world.get(`${syndicate.path}/members?role=member`, {
        token: syndicate.creatorToken,
      });
      const statistics = await world.get(`${syndicate.path}/statistics`, { token: syndicate.creatorToken });
      return [
        (await get(syndicate, `/${deal.id}`)).body.data.attributes.amount_raised,
        member.body.data[0].attributes.investment_total,
        statistics.body.data.attributes.total_raised,
      ];
    };
    expect(await seen()).toEqual(['1000', '1000', '1000']);
    await world.control('PATCH', `/investments/${investment}`, { amounts: { committed_cents: 250_000 } });
    expect(await seen()).toEqual(['2500', '2500', '2500']);
    await world.control('PATCH', `/investments/${investment}`, { status: 'canceled' });
    expect(await seen()).toEqual(['0', '0', '0']);
  });

  test('DEAL-01 the list of deals returns only live deals, newest first, in pages', async () => {
    const syndicate = foundSyndicate(world);
    const live = ['open', 'oversubscribed', 'closing']
      .map((status) => openDeal(world, syndicate, status).id)
      .reverse();
    for (const status of ['closed', 'canceled', 'upcoming']) openDeal(world, syndicate, status);
    openDeal(world, foundSyndicate(world));
    const { body } = await get(syndicate, '');
    expect(body.data.map((row: { id: string }) => row.id)).toEqual(live);
    for (const row of body.data) expect(row.attributes.status).toBe('open');
    const first = await get(syndicate, '?per_page=2');
    const second = await get(syndicate, `?per_page=2&cursor=${first.body.meta.next_cursor}`);
    expect([...first.body.data, ...second.body.data].map((row: { id: string }) => row.id)).toEqual(live);
    expect(second.body.meta).toEqual({ has_more: false, page_count: 1, next_cursor: null });
  });

  test('DEAL-01 a deal of another syndicate is not found, and only its preparers find one in preparation', async () => {
    const syndicate = foundSyndicate(world);
    const foreign = openDeal(world, foundSyndicate(world));
    const upcoming = openDeal(world, syndicate, 'upcoming');
    const member = syndicate.token(syndicate.add('Mia'));
    for (const path of ['', '/readiness', '/investors', '/statistics']) {
      expect(refusal(await get(syndicate, `/${foreign.id}${path}`))).toEqual([404, 'not_found']);
    }
    expect((await get(syndicate, `/${upcoming.id}`)).body.data.attributes.status).toBe('upcoming');
    expect(refusal(await get(syndicate, `/${upcoming.id}`, member))).toEqual([404, 'not_found']);
    expect((await get(syndicate, `/${openDeal(world, syndicate).id}`, member)).status).toBe(200);
  });
});

describe('preparing deals', () => {
  const create = (syndicate: TestSyndicate, deal: unknown, token = syndicate.creatorToken) =>
    world.post(`${syndicate.path}/deals`, { token, body: { deal } });

  test('DEAL-01 a person who manages the syndicate and edits the company prepares a deal as upcoming', async () => {
    const syndicate = foundSyndicate(world);
    const company = makeCompany(world, {});
    const edits = (no: number) =>
      run(world.services.state, `INSERT INTO company_members VALUES (?, ?, 'editor', 1)`, [company.no, no]);
    const wish = {
      company: company.id,
      name: 'Seed',
      funding_target_cents: 1_000_000,
      min_investment_cents: 10_000,
    };
    expect(refusal(await create(syndicate, wish))).toEqual([404, 'not_found']);
    expect(refusal(await create(syndicate, wish, syndicate.installationToken))).toEqual([404, 'not_found']);
    const readsOnly = [company.no, syndicate.creator.person.no];
    run(world.services.state, `INSERT INTO company_members VALUES (?, ?, 'admin', 0)`, readsOnly);
    expect(refusal(await create(syndicate, wish))).toEqual([404, 'not_found']);
    run(world.services.state, 'DELETE FROM company_members WHERE company_no = ? AND user_no = ?', readsOnly);
    edits(syndicate.creator.person.no);
    const answer = await create(syndicate, wish);
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({
      id: expect.stringMatching(/^ofr_/),
      attributes: {
        name: 'Seed',
        status: 'upcoming',
        company: company.id,
        amount_raised: '0',
        investor_count: 0,
        funding_target: '1000000',
        min_investment: '100',
        max_investment: null,
        funding_started_at: null,
      },
    });
    expect((await create(syndicate, wish, syndicate.installationToken)).status).toBe(201);
    expect((await get(syndicate, '')).body.data).toEqual([]);
    const operator = syndicate.add('Op', 'operator');
    expect(refusal(await create(syndicate, wish, syndicate.token(operator)))).toEqual([404, 'not_found']);
    edits(operator.person.no);
    expect((await create(syndicate, wish, syndicate.token(operator))).status).toBe(201);
    const mia = syndicate.add('Mia');
    edits(mia.person.no);
    expect(refusal(await create(syndicate, wish, syndicate.token(mia)))).toEqual([403, 'forbidden']);
  });

  test('DEAL-01 ERR-05 creating an invalid deal lists the errors by field', async () => {
    const syndicate = foundSyndicate(world);
    const cases: [unknown, string][] = [
      [undefined, 'deal'],
      [{}, 'deal.company'],
      [{ company: 'co_x', funding_target_cents: 0 }, 'deal.funding_target_cents'],
      [{ company: 'co_x', security: 'Bond' }, 'deal.security'],
      [{ company: 'co_x', min_investment_cents: 2, max_investment_cents: 1 }, 'deal.max_investment_cents'],
    ];
    for (const [deal, field] of cases) {
      const answer = await create(syndicate, deal);
      expect(refusal(answer)).toEqual([422, 'validation_error']);
      expect(answer.body.error.details.errors[0].field).toBe(field);
    }
  });
});

test('DEAL-02 the readiness of a deal lists the checks that still block closing', async () => {
  const syndicate = foundSyndicate(world);
  const deal = openDeal(world, syndicate);
  const failing = async () => {
    const { body } = await get(syndicate, `/${deal.id}/readiness`);
    const { ready, checks } = body.data.attributes;
    const codes = checks
      .filter((check: { passed: boolean }) => !check.passed)
      .map((check: { code: string }) => check.code);
    expect(ready).toBe(codes.length === 0);
    return codes;
  };
  syndicate.set({ published: 0 });
  expect(await failing()).toEqual([
    'syndicate_published',
    'terms_complete',
    'target_reached',
    'investments_confirmed',
  ]);
  syndicate.set({ published: 1 });
  terms(deal, { target: 1_000, min: 1 });
  const investment = await deal.invest(makePerson(world, 'One'), 1000);
  expect(await failing()).toEqual(['target_reached', 'investments_confirmed']);
  await world.control('PATCH', `/investments/${investment}`, { group: 'CONFIRMED' });
  expect(await failing()).toEqual([]);
  const member = syndicate.token(syndicate.add('Mia'));
  expect(refusal(await get(syndicate, `/${deal.id}/readiness`, member))).toEqual([403, 'forbidden']);
});

test('DEAL-01 a deal shows the funding target and the minimum investment of its round in the catalog', async () => {
  const syndicate = world.ready.syndicates[0];
  const deals = await world.get(`/syndicates/${syndicate?.id}/deals`, { token: syndicate?.token ?? '' });
  expect(deals.body.data.length).toBeGreaterThan(0);
  for (const { id, attributes } of deals.body.data) {
    const { body } = await world.get(`/offerings/${id}`, { token: world.ready.users[0]?.token ?? '' });
    const { funding_target_cents, min_investment_cents } = body.data.attributes;
    expect([attributes.funding_target, Number(attributes.min_investment) * 100]).toEqual([
      String(funding_target_cents),
      min_investment_cents,
    ]);
  }
});

test('DEAL-02 the statistics of a deal summarize its investments', async () => {
  const syndicate = foundSyndicate(world);
  const deal = openDeal(world, syndicate);
  const one = makePerson(world, 'One');
  await deal.invest(one, 100_000, { group: 'IS READY' });
  await deal.invest(one, 50_000);
  await deal.invest(makePerson(world, 'Two'), 50_001, { status: 'executed' });
  terms(deal, { target: 196_000 });
  const { body } = await get(syndicate, `/${deal.id}/statistics`);
  expect(body.data).toEqual({
    id: deal.id,
    type: 'deal_statistics',
    attributes: {
      amount_raised: '1500',
      amount_raised_cents: 150_001,
      amount_committed_cents: 200_001,
      investor_count: 2,
      investments_by_status: { pending: 1, confirmed: 2 },
      average_investment_cents: 66_667,
      funding_target_cents: 196_000,
      // 76.53 percent, rounded down.
      percent_funded: 76,
    },
  });
});

describe('investors of a deal', () => {
  test('DEAL-02 the list of investors has the members who invested, by amount, in pages by offset', async () => {
    const syndicate = foundSyndicate(world);
    const deal = openDeal(world, syndicate);
    const [small, large, middle] = ['Small', 'Large', 'Middle'].map((name) => syndicate.add(name));
    if (small === undefined || large === undefined || middle === undefined)
      throw new Error('expected three added members');
    await deal.invest(small.person, 10_000);
    world.clock.advance(1000);
    await deal.invest(large.person, 60_050, { group: 'IS READY' });
    await deal.invest(large.person, 40_000, { status: 'executed' });
    await deal.invest(middle.person, 50_000);
    await deal.invest(makePerson(world, 'No Member'), 900_000);
    await deal.invest(syndicate.add('Left', 'resigned').person, 900_000);
    const { body } = await get(syndicate, `/${deal.id}/investors`);
    expect(body.data.map((row: { id: string }) => row.id)).toEqual(
      [large, middle, small].map((m) => m.person.id),
    );
    expect(body.meta).toEqual({ count: 3, total_count: 3, offset: 0, per_page: null, has_more: false });
    expect(body.data[0]).toEqual({
      id: large.person.id,
      type: 'deal_investor',
      attributes: {
        user_id: large.person.no,
        user: large.person.id,
        user_name: 'Large',
        user_email: large.person.email,
        avatar_url: null,
        amount: '1000',
        amount_cents: 100_050,
        status: 'confirmed',
        invested_at: new Date(world.services.clock.now()).toISOString(),
      },
    });
    expect(body.data[1].attributes.status).toBe('pending');
    await deal.invest(large.person, 100);
    const [waiting] = (await get(syndicate, `/${deal.id}/investors`)).body.data;
    expect(waiting).toMatchObject({ id: large.person.id, attributes: { status: 'pending' } });
    const second = await get(syndicate, `/${deal.id}/investors?per_page=1&offset=1`);
    expect(second.body.data.map((row: { id: string }) => row.id)).toEqual([middle.person.id]);
    expect(second.body.meta).toEqual({ count: 1, total_count: 3, offset: 1, per_page: 1, has_more: true });
    expect((await get(syndicate, `/${deal.id}/investors?offset=9`)).body.meta).toMatchObject({
      count: 0,
      has_more: false,
    });
    expect((await get(syndicate, `/${deal.id}/investors?per_page=900`)).body.meta.per_page).toBe(200);
    const beyond = await get(
      syndicate,
      `/${deal.id}/investors?per_page=99999999999&offset=99999999999999999999`,
    );
    expect(beyond.body.meta).toMatchObject({ count: 0, total_count: 3, per_page: 200, has_more: false });
    for (const query of ['per_page=x', 'offset=1.5']) {
      expect(refusal(await get(syndicate, `/${deal.id}/investors?${query}`))).toEqual([
        400,
        'invalid_parameter',
      ]);
    }
  });

  test('DEAL-02 only syndicate managers see addresses, and an install without read:investors:pii sees no identities', async () => {
    const syndicate = foundSyndicate(world);
    const deal = openDeal(world, syndicate);
    const mia = syndicate.add('Mia');
    await deal.invest(mia.person, 10_000);
    const seen = async (token: string) => {
      const { user_name, user_email } = (await get(syndicate, `/${deal.id}/investors`, token)).body.data[0]
        .attributes;
      return [user_name, user_email];
    };
    const { services } = world;
    const { no } = one<{ no: number }>(services.state, 'SELECT no FROM installations WHERE id = ?', [
      syndicate.installation,
    ]) ?? { no: 0 };
    const blind = mintFor(
      services,
      installationByNo(services.state, no),
      ['read:syndicates'],
      services.clock.now(),
    );
    expect(await seen(syndicate.creatorToken)).toEqual(['Mia', mia.person.email]);
    expect(await seen(syndicate.installationToken)).toEqual(['Mia', mia.person.email]);
    expect(await seen(syndicate.token(mia))).toEqual(['Mia', null]);
    expect(await seen(blind.token)).toEqual([null, null]);
  });
});

describe('closing and finalizing a deal', () => {
  test('VERS-11 DEAL-03 on 2026-10-15 close and finalize return 404 to every caller, before scope and access are checked', async () => {
    const syndicate = foundSyndicate(world);
    const deal = openDeal(world, syndicate);
    const nobody = syndicate.token({ person: makePerson(world, 'Stranger') }, ['read:profile']);
    for (const action of ['close', 'finalize']) {
      for (const token of [null, syndicate.creatorToken, nobody]) {
        const credential = token === null ? {} : { token };
        for (const headers of [{}, { 'service-version': '2026-10-15' }]) {
          const answer = await world.post(`${syndicate.path}/deals/${deal.id}/${action}`, {
            ...credential,
            headers,
          });
          expect(refusal(answer)).toEqual([404, 'not_found']);
          expect(answer.body.error.details).toEqual({ removed_in_version: '2026-10-15' });
        }
        const unknown = await world.post(`/syndicates/syn_x/deals/ofr_x/${action}`, credential);
        expect(unknown.body.error.details).toEqual({ removed_in_version: '2026-10-15' });
      }
      const scoped = await world.post(`${syndicate.path}/deals/${deal.id}/${action}`, {
        token: nobody,
        headers: older,
      });
      expect(refusal(scoped)).toEqual([403, 'insufficient_scope']);
    }
  });

  test('DEAL-03 on 2026-10-01 close and finalize create an intent for a deal of this syndicate and leave the deal unchanged', async () => {
    const syndicate = foundSyndicate(world);
    const deal = openDeal(world, syndicate);
    const proposed: DealProposal[] = [];
    const intent = { id: 'int_1', status: 'pending', review_url: 'https://review.example/1' };
    const server = await listen(
      world.services,
      dealRoutes((_exchange, proposal) => {
        proposed.push(proposal);
        return intent;
      }),
      [],
      { host: '127.0.0.1', port: 0 },
    );
    try {
      const post = async (id: string, action: string, token = syndicate.creatorToken) => {
        const response = await fetch(`${server.url}${syndicate.path}/deals/${id}/${action}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, ...older },
        });
        // biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
        return { status: response.status, body: (await response.json()) as any };
      };
      const before = (await get(syndicate, `/${deal.id}`)).body.data;
      const closed = await post(deal.id, 'close');
      expect(closed).toEqual({ status: 200, body: { data: before, meta: { close_deal_intent: intent } } });
      const finalized = await post(deal.id, 'finalize');
      expect(finalized.body.meta).toEqual({ finalize_deal_intent: intent });
      const about = { syndicateNo: syndicate.no, offeringNo: deal.no, offeringId: deal.id };
      expect(proposed).toEqual([
        { action: 'syndicates.close_deal', ...about },
        { action: 'syndicates.finalize_deal', ...about },
      ]);
      const foreign = await post(openDeal(world, foundSyndicate(world)).id, 'close');
      expect([foreign.status, foreign.body.error.type]).toEqual([422, 'unprocessable_entity']);
      expect((await post('ofr_unknown', 'close')).status).toBe(404);
      expect((await post(deal.id, 'close', syndicate.token(syndicate.add('Mia')))).status).toBe(403);
      expect(proposed).toHaveLength(2);
    } finally {
      await server.close();
    }
  });
});
