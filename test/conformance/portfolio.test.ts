import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  getPortfolio,
  getSyndicatePortfolio,
  listPositions,
  listSyndicatePositions,
} from '../../src/platform/contract/portfolio.js';
import { run } from '../../src/platform/state/statements.js';
import {
  companyOf,
  conforms,
  errorOf,
  follow,
  ida,
  invest,
  ivan,
  personToken,
  publishableKey,
  roundOf,
} from './catalog.js';
import { makeSyndicate } from './credentials.js';
import { type RunningPlatform, startPlatform, worldStart } from './running-platform.js';

// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
type Item = any;

let world: RunningPlatform;
let token: string;
const investor = 'backer10@people.example';

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  token = personToken(world, investor, 'read:investments');
  invest(world, { email: investor, slug: 'finished-symphony', index: 0, cents: 120_000 });
  invest(world, { email: investor, slug: 'sunken-bells', cents: 50_000 });
  invest(world, { email: investor, slug: 'harbour-lanterns', index: 0, cents: 200_001 });
  invest(world, { email: investor, slug: 'harbour-lanterns', index: 0, cents: 100_000 });
  invest(world, { email: investor, slug: 'quiet-orchard', cents: 100_125 });
});
afterAll(() => world.close());

const read = (path: string, bearer = token) => world.get(path, { token: bearer });
const positions = async (query = '', bearer = token): Promise<Item[]> =>
  (await read(`/portfolio/positions${query}`, bearer)).body.data;
const slugs = (items: readonly Item[]): string[] => items.map((item) => item.attributes.company.slug);
const position = async (slug: string): Promise<Item> =>
  (await positions()).find((item) => item.attributes.company.slug === slug)?.attributes;

describe('portfolio positions', () => {
  test('PORT-01 PORT-03 PORT-05 each position covers one offering, newest first, with company and exit', async () => {
    const { body } = conforms(listPositions, await read('/portfolio/positions'));
    expect(slugs(body.data)).toEqual([
      'quiet-orchard',
      'harbour-lanterns',
      'sunken-bells',
      'finished-symphony',
    ]);
    for (const item of body.data) {
      expect(item).toMatchObject({ id: item.attributes.offering_id, type: 'portfolio_position' });
      expect(item.attributes.company.url).toMatch(/^https:\/\/.+/);
    }
    expect(await position('finished-symphony')).toMatchObject({
      status: 'exited',
      exit_reason: 'acquisition',
      exited_on: '2026-06-30',
    });
    expect(await position('harbour-lanterns')).toMatchObject({
      status: 'active',
      exit_reason: null,
      exited_on: null,
      asset_type: 'company',
      holdings: [],
    });
  });

  test('PORT-03 an open position has a value, and an ended one a realized gain', async () => {
    expect(await position('harbour-lanterns')).toMatchObject({
      cost_basis_cents: 300_001,
      current_value_cents: 420_001,
      unrealized_gain_cents: 120_000,
      realized_gain_cents: 0,
      return_multiple: '1.39',
      shares_held: null,
      current_share_price: null,
    });
    expect(await position('finished-symphony')).toMatchObject({
      cost_basis_cents: 120_000,
      current_value_cents: 0,
      unrealized_gain_cents: 0,
      realized_gain_cents: 162_000,
      return_multiple: '2.35',
      shares_held: '1000',
      current_share_price: null,
    });
    expect(await position('sunken-bells')).toMatchObject({
      status: 'failed',
      current_value_cents: 0,
      realized_gain_cents: -50_000,
      return_multiple: '0.00',
    });
    expect(await position('quiet-orchard')).toMatchObject({
      cost_basis_cents: 100_125,
      current_value_cents: 100_125,
      shares_held: '400.5',
      current_share_price: '2.50',
    });
  });

  test('PORT-06 PORT-03 the securities of a position show the terms, with zero as null', async () => {
    const { securities } = await position('harbour-lanterns');
    expect(securities).toHaveLength(2);
    expect(securities[0]).toMatchObject({
      security: { type: 'safe', label: 'SAFE' },
      early_bird: false,
      terms: {
        uncapped: true,
        note_cap_cents: null,
        note_discount: '15',
        share_price: null,
        premoney_valuation_cents: null,
      },
      cost_basis_cents: 200_001,
      owner: { kind: 'individual' },
    });
    const { no } = roundOf(world, 'harbour-lanterns', 0);
    run(
      world.services.state,
      `UPDATE offering_terms SET security_terms = '{"valuation_cap_cents":0,"discount_percent":"0"}' WHERE offering_no = ?`,
      [no],
    );
    expect((await position('harbour-lanterns')).securities[0].terms).toMatchObject({
      uncapped: true,
      note_cap_cents: null,
      note_discount: null,
    });
    run(
      world.services.state,
      `UPDATE offering_terms SET security_terms = '{"valuation_cap_cents":700,"discount_percent":"0.5"}' WHERE offering_no = ?`,
      [no],
    );
    expect((await position('harbour-lanterns')).securities[0].terms).toMatchObject({
      uncapped: false,
      note_cap_cents: 700,
      note_discount: '0.5',
    });
    expect((await position('quiet-orchard')).securities[0].terms).toMatchObject({
      uncapped: false,
      share_price: '2.50',
      premoney_valuation_cents: 2_000_000_000,
    });
  });

  test('PORT-03 a position costs what its shares cost, and is as new as its latest investment', async () => {
    const bearer = personToken(world, 'maker1@people.example', 'read:investments');
    const bought = (cents: number) =>
      invest(world, { email: 'maker1@people.example', slug: 'quiet-orchard', cents });
    const [first, second] = [bought(100_200), bought(100_200)];
    const at = (id: string, time: string) =>
      run(world.services.state, 'UPDATE investments SET applied_at = ? WHERE id = ?', [Date.parse(time), id]);
    at(first, '2026-10-01T00:00:00.000Z');
    at(second, '2026-10-02T00:00:00.000Z');
    const [{ attributes }] = await positions('', bearer);
    // 400.5 shares of 2.50 each: no part of half a share is bought.
    expect(attributes).toMatchObject({
      ...{ cost_basis_cents: 2 * 100_125, shares_held: '801', invested_at: '2026-10-02T00:00:00.000Z' },
      securities: [{ cost_basis_cents: 100_125 }, { cost_basis_cents: 100_125 }],
    });
    for (const id of [first, second]) await world.control('DELETE', `/investments/${id}`);
  });

  test('PORT-06 a convertible note without a cap is uncapped, and a share is not', async () => {
    const bearer = personToken(world, 'maker1@people.example', 'read:investments');
    const note = invest(world, { email: 'maker1@people.example', slug: 'harbour-lanterns', index: 0 });
    const { no } = roundOf(world, 'harbour-lanterns', 0);
    for (const [type, uncapped] of [
      ['convertible_note', true],
      ['safe', true],
      ['equity', false],
    ] as const) {
      run(
        world.services.state,
        `UPDATE offering_terms SET security_type = ?, security_terms = '{}' WHERE offering_no = ?`,
        [type, no],
      );
      const [{ attributes }] = await positions('', bearer);
      expect([type, attributes.securities[0].terms.uncapped]).toEqual([type, uncapped]);
    }
    run(world.services.state, `UPDATE offering_terms SET security_type = 'safe' WHERE offering_no = ?`, [no]);
    await world.control('DELETE', `/investments/${note}`);
  });

  test('PORT-03 an entity’s position is under the entity’s name, and a fund lists its holdings', async () => {
    const bought = invest(world, { email: investor, slug: 'vaulted-arch', cents: 5000 });
    run(
      world.services.state,
      `UPDATE investments SET entity_name = 'Backer Ten LLC', contracts = '[{"name":"Agreement","override_amount_cents":null,"early_bird":true}]' WHERE id = ?`,
      [bought],
    );
    run(
      world.services.state,
      `INSERT INTO fund_holdings (offering_no, company_no, status) VALUES (?, ?, 'active')`,
      [roundOf(world, 'vaulted-arch').no, companyOf(world, 'quiet-orchard').no],
    );
    conforms(listPositions, await read('/portfolio/positions'));
    expect(await position('vaulted-arch')).toMatchObject({
      asset_type: 'fund',
      securities: [{ owner: { kind: 'entity', name: 'Backer Ten LLC' }, early_bird: true }],
      holdings: [
        { company: { id: companyOf(world, 'quiet-orchard').id, name: 'Quiet Orchard' }, status: 'active' },
      ],
    });
    await world.control('DELETE', `/investments/${bought}`);
    expect(await position('vaulted-arch')).toBeUndefined();
  });

  test('SCOPE-11 only received money makes a position', async () => {
    const bearer = personToken(world, ivan, 'read:investments');
    const before = slugs(await positions('', bearer));
    const bought = invest(world, { email: ivan, slug: 'tidal-ledger' });
    expect(slugs(await positions('', bearer))).toEqual(['tidal-ledger', ...before]);
    for (const set of [
      { status: 'canceled' },
      { status: 'needs_whitelisting' },
      { status: 'active', group: 'PENDING' },
    ]) {
      await world.control('PATCH', `/investments/${bought}`, set);
      expect(slugs(await positions('', bearer)), JSON.stringify(set)).toEqual(before);
    }
  });

  test('PORT-03 positions filter by status and company', async () => {
    expect(slugs(await positions('?status=exited'))).toEqual(['finished-symphony']);
    expect(slugs(await positions('?status=failed'))).toEqual(['sunken-bells']);
    expect(await positions('?status=sold')).toEqual([]);
    const { id } = companyOf(world, 'harbour-lanterns');
    expect(slugs(await positions(`?company=${id}`))).toEqual(['harbour-lanterns']);
    expect(await positions(`?company=${id}&status=exited`)).toEqual([]);
    const wrong = await read('/portfolio/positions?status=open');
    expect(errorOf(wrong)).toEqual([400, 'invalid_parameter']);
    for (const status of ['active', 'exited', 'sold', 'failed'])
      expect(wrong.body.error.message).toContain(status);
    expect(errorOf(await read('/portfolio/positions?company=co_never'))).toEqual([404, 'not_found']);
    expect(errorOf(await read('/portfolio/positions?cursor=25'))).toEqual([400, 'invalid_parameter']);
    expect(await follow(world, '/portfolio/positions?per_page=1', token)).toEqual(await positions());
  });
});

describe('the portfolio summary', () => {
  test('PORT-03 the summary adds up the positions', async () => {
    const { body } = conforms(getPortfolio, await read('/portfolio'));
    const all = (await positions()).map((item) => item.attributes);
    const sum = (name: string) => all.reduce((total, one) => total + one[name], 0);
    expect(body.data).toEqual({
      type: 'portfolio_summary',
      attributes: {
        currency: 'usd',
        total_cost_basis_cents: sum('cost_basis_cents'),
        total_current_value_cents: sum('current_value_cents'),
        total_unrealized_gain_cents: sum('unrealized_gain_cents'),
        total_realized_gain_cents: sum('realized_gain_cents'),
        return_multiple: expect.stringMatching(/^\d+\.\d\d$/),
        position_counts: { active: 2, exited: 1, sold: 0, failed: 1 },
        as_of: new Date(worldStart).toISOString(),
      },
    });
    expect((await read('/portfolio?status=exited')).body.data.attributes).toMatchObject({
      total_cost_basis_cents: 120_000,
      total_realized_gain_cents: 162_000,
      position_counts: { active: 0, exited: 1 },
    });
    expect((await read('/portfolio?company=co_never')).status).toBe(404);
  });

  test('PORT-03 the summary does not add amounts of different currencies', async () => {
    const before = (await read('/portfolio')).body.data.attributes;
    const bought = invest(world, { email: investor, slug: 'copper-kettle-rail', cents: 70_000 });
    const mixed = (await read('/portfolio')).body.data.attributes;
    expect(mixed).toEqual({ ...before, position_counts: { ...before.position_counts, active: 3 } });
    const euros = (await read(`/portfolio?company=${companyOf(world, 'copper-kettle-rail').id}`)).body.data
      .attributes;
    expect(euros).toMatchObject({ currency: 'eur', total_cost_basis_cents: 70_000, return_multiple: '1.00' });
    await world.control('DELETE', `/investments/${bought}`);
  });

  test('PORT-03 the summary of an empty portfolio has zero totals and no multiple', async () => {
    const { attributes } = (
      await read('/portfolio', personToken(world, 'maker2@people.example', 'read:investments'))
    ).body.data;
    expect(attributes).toMatchObject({
      total_cost_basis_cents: 0,
      return_multiple: null,
      position_counts: { active: 0, exited: 0, sold: 0, failed: 0 },
    });
  });

  test('SCOPE-11 OAUTH-26 the portfolio requires a user with read:investments', async () => {
    for (const path of ['/portfolio', '/portfolio/positions']) {
      expect(errorOf(await world.get(path))).toEqual([401, 'unauthorized']);
      expect(errorOf(await read(path, publishableKey(world)))).toEqual([403, 'insufficient_scope']);
      expect(errorOf(await read(path, personToken(world, ida, 'read:profile')))).toEqual([
        403,
        'insufficient_scope',
      ]);
      expect(errorOf(await read(path, world.ready.companies[0]?.token))).toEqual([403, 'forbidden']);
    }
  });
});

describe('the portfolio of a syndicate', () => {
  test('PORT-01 PORT-04 the portfolio of a syndicate lists its deals, in total and one by one, with investor counts', async () => {
    const syndicate = makeSyndicate(world, { ida: 'operator' });
    const [lanterns, symphony] = [
      roundOf(world, 'harbour-lanterns', 0),
      roundOf(world, 'finished-symphony', 0),
    ];
    for (const { no } of [lanterns, symphony])
      run(world.services.state, 'UPDATE offerings SET syndicate_no = ? WHERE no = ?', [syndicate.no, no]);
    const manager = personToken(world, ida, 'read:syndicates');
    const { body } = conforms(
      listSyndicatePositions,
      await read(`/syndicates/${syndicate.id}/portfolio/positions`, manager),
    );
    expect(slugs(body.data)).toEqual(['harbour-lanterns', 'finished-symphony']);
    expect(body.data[0]).toMatchObject({
      type: 'syndicate_portfolio_position',
      attributes: { investor_count: 5, cost_basis_cents: 700_001, securities: [{ investor_count: 5 }] },
    });
    expect(JSON.stringify(body)).not.toMatch(/owner|Backer/);
    const summary = conforms(
      getSyndicatePortfolio,
      await read(`/syndicates/${syndicate.id}/portfolio`, manager),
    ).body.data;
    expect(summary).toMatchObject({
      type: 'syndicate_portfolio_summary',
      attributes: { investor_count: 5, deal_counts: { active: 1, exited: 1, sold: 0, failed: 0 } },
    });
    expect(
      slugs((await read(`/syndicates/${syndicate.id}/portfolio/positions?status=exited`, manager)).body.data),
    ).toEqual(['finished-symphony']);
    expect(
      await follow(world, `/syndicates/${syndicate.id}/portfolio/positions?per_page=1`, manager),
    ).toEqual(body.data);
  });

  test('PORT-04 SEC-01 SEC-14 the portfolio of a syndicate is for its managers only', async () => {
    const [mine, other] = world.ready.syndicates;
    for (const tail of ['', '/positions']) {
      const path = `/syndicates/${mine?.id}/portfolio${tail}`;
      expect((await read(path, mine?.token)).status).toBe(200);
      expect(
        (await read(path, personToken(world, 'founder1@people.example', 'read:syndicates'))).status,
      ).toBe(200);
      expect(errorOf(await read(path, other?.token))).toEqual([403, 'forbidden']);
      expect(errorOf(await read(path, world.ready.companies[0]?.token))).toEqual([403, 'forbidden']);
      expect(errorOf(await read(path, personToken(world, ida, 'read:syndicates')))).toEqual([
        404,
        'not_found',
      ]);
      expect(
        errorOf(await read(path, personToken(world, 'founder1@people.example', 'read:investments'))),
      ).toEqual([403, 'insufficient_scope']);
      expect(errorOf(await read(`/syndicates/syn_never/portfolio${tail}`, mine?.token))).toEqual([
        404,
        'not_found',
      ]);
      expect(errorOf(await read(path, publishableKey(world)))).toEqual([403, 'insufficient_scope']);
    }
  });
});
