import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postComment } from '../../src/platform/companies/comments.js';
import { getCompany, searchCompanies } from '../../src/platform/contract/companies.js';
import { disclosureSectionShapes, getDisclosures } from '../../src/platform/contract/company-disclosures.js';
import { getPitch } from '../../src/platform/contract/company-pitch.js';
import { getUpdate, listQuestions, listUpdates } from '../../src/platform/contract/company-tabs.js';
import { disclosureSections } from '../../src/platform/contract/vocabulary.js';
import { all, one, run } from '../../src/platform/state/statements.js';
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
import { makeCompany, userNo } from './credentials.js';
import { type RunningPlatform, startPlatform, worldStart } from './running-platform.js';

// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
type Item = any;

let world: RunningPlatform;
let key: string;
let explorer: string;
let plain: string;
const day = 86_400_000;
const lanterns = 'harbour-lanterns';

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  key = publishableKey(world);
  explorer = personToken(world, ida, 'read:explore');
  plain = personToken(world, ivan, 'read:explore');
});
afterAll(() => world.close());

const read = (slug: string, tab = '', token = key) =>
  world.get(`/companies/${companyOf(world, slug).id}${tab}`, { token });
const attributes = async (slug: string, tab = '', token = key): Promise<Item> =>
  (await read(slug, tab, token)).body.data.attributes;
const tabs = ['', '/disclosures', '/pitch', '/updates', '/questions'];

describe('a company record', () => {
  test('COMP-01 COMP-02 COMP-03 the record of a company has the raise, the rounds and the totals, exact in cents', async () => {
    const { id } = companyOf(world, lanterns);
    const answer = conforms(getCompany, await read(lanterns));
    expect(answer.body.data).toMatchObject({ id, type: 'company' });
    const [past, current] = [roundOf(world, lanterns, 0).id, roundOf(world, lanterns, 1).id];
    expect(answer.body.data.attributes).toMatchObject({
      name: 'Harbour Lanterns',
      location: { city: 'Portland', state: 'ME', country: 'United States' },
      raising: true,
      current_raise: {
        offering_id: current,
        offering_ids: [current],
        testing_the_waters: false,
        amount_raised: '40000.00',
        amount_raised_cents: 4_000_000,
        funding_target: '50000.00',
        funding_target_cents: 5_000_000,
        investor_count: 8,
        oversubscribed: false,
      },
      past_rounds: [
        {
          offering_id: past,
          source: 'service',
          amount_raised: '4000.00',
          amount_raised_cents: 400_000,
          investor_count: 4,
        },
        {
          offering_id: null,
          source: 'reported',
          exemption: { family: 'other' },
          amount_raised_cents: 25_000_000,
        },
      ],
      service_rounds: [
        { offering_id: current, current: true, status: 'open', amount_raised_cents: 4_000_000 },
        {
          offering_id: past,
          current: false,
          status: 'closed',
          amount_raised_cents: 400_000,
          security: { type: 'safe', label: 'SAFE' },
        },
      ],
      totals: {
        raised_on_service_all_time: '44000.00',
        raised_on_service_all_time_cents: 4_400_000,
        profile_total_raised: '294000.00',
        profile_total_raised_cents: 29_400_000,
        profile_reported_off_platform: '250000.00',
        profile_reported_off_platform_cents: 25_000_000,
        profile_includes_past_rounds: true,
      },
    });
  });

  test('CONV-16 VERS-21 each amount of a company is in decimal dollars beside its cents, in every version', async () => {
    for (const version of ['2026-10-01', '2026-10-15']) {
      const { id } = companyOf(world, lanterns);
      const headers = { 'Service-Version': version };
      const { body } = await world.get(`/companies/${id}`, { token: key, headers });
      const { current_raise, past_rounds, totals } = body.data.attributes;
      const pairs = [
        [current_raise, 'amount_raised'],
        [current_raise, 'funding_target'],
        [past_rounds[0], 'amount_raised'],
        [totals, 'profile_total_raised'],
        [totals, 'profile_reported_off_platform'],
        [totals, 'raised_on_service_all_time'],
      ] as const;
      for (const [object, field] of pairs) {
        const cents = object[`${field}_cents`];
        expect(Number.isInteger(cents)).toBe(true);
        expect([version, field, object[field]]).toEqual([version, field, (cents / 100).toFixed(2)]);
      }
    }
  });

  test('COMP-03 the ticker of a company without earlier rounds adds none to the raise', async () => {
    const { no } = companyOf(world, lanterns);
    run(world.services.state, 'UPDATE company_profiles SET ticker_includes_past = 0 WHERE company_no = ?', [
      no,
    ]);
    const shown = await attributes(lanterns);
    run(world.services.state, 'UPDATE company_profiles SET ticker_includes_past = 1 WHERE company_no = ?', [
      no,
    ]);
    expect(shown.past_rounds).toEqual([]);
    expect(shown.totals).toMatchObject({
      profile_total_raised_cents: 4_000_000,
      raised_on_service_all_time_cents: 4_400_000,
      profile_includes_past_rounds: false,
    });
    expect((await attributes('quiet-orchard')).totals.profile_includes_past_rounds).toBeNull();
    expect((await attributes('finished-symphony')).current_raise).toBeNull();
  });

  test('COMP-03 concurrent legs count as one raise, and parallel reservations are not part of it', async () => {
    const { current_raise, service_rounds } = await attributes('sandbox-company-1');
    const legs = [0, 1].map((index) => roundOf(world, 'sandbox-company-1', index).id);
    expect(new Set(current_raise.offering_ids)).toEqual(new Set(legs));
    const sum = service_rounds
      .filter((round: Item) => legs.includes(round.offering_id))
      .reduce((total: number, round: Item) => total + round.amount_raised_cents, 0);
    expect(current_raise.amount_raised_cents).toBe(sum);
    expect(service_rounds).toHaveLength(4);
  });

  test('COMP-04 SCOPE-07 accredited-only and Vault companies are visible to viewers who qualify', async () => {
    for (const slug of ['lumen-works', 'vaulted-arch']) {
      for (const token of [
        key,
        plain,
        world.ready.companies[0]?.token,
        personToken(world, ida, 'read:profile'),
      ]) {
        expect(errorOf(await read(slug, '', token)), slug).toEqual([404, 'not_found']);
      }
      conforms(getCompany, await read(slug, '', explorer));
    }
    const bought = invest(world, { email: ivan, slug: 'vaulted-arch' });
    expect((await read('vaulted-arch', '', plain)).status).toBe(200);
    await world.control('DELETE', `/investments/${bought}`);
    expect((await read('vaulted-arch', '', plain)).status).toBe(404);
  });

  test('SEC-03 COMP-24 every tab of a hidden, unapproved or unknown company returns the same error', async () => {
    for (const tab of [...tabs, '/updates/any']) {
      const unknown = await world.get(`/companies/co_never${tab}`, { token: key });
      for (const slug of ['hidden-hollow', 'unproven-umbrellas', 'lumen-works']) {
        const answer = await read(slug, tab);
        expect(errorOf(answer), slug + tab).toEqual([404, 'not_found']);
        expect({ ...answer.body.error, request_id: '' }).toEqual({ ...unknown.body.error, request_id: '' });
      }
    }
    const maker = personToken(world, 'maker13@people.example', 'read:explore');
    for (const tab of tabs) expect((await read('hidden-hollow', tab, maker)).status, tab).toBe(200);
    const backer = personToken(world, 'backer1@people.example', 'read:explore');
    expect((await read('hidden-hollow', '', backer)).status).toBe(404);
    expect((await read('unproven-umbrellas', '', backer)).status).toBe(200);
  });
});

describe('searching companies', () => {
  const search = (query: string, token = key) => world.get(`/companies/search?${query}`, { token });
  const found = async (query: string, token = key): Promise<string[]> =>
    (await search(query, token)).body.data.map((item: Item) => item.attributes.name);

  test('COMP-05 COMP-06 search ranks names before taglines and ignores accents and case', async () => {
    const answer = conforms(searchCompanies, await search('q=%20HARBOUR%20'));
    expect(answer.body.meta).toEqual({ query: 'HARBOUR', count: 1 });
    expect(answer.body.data[0]).toMatchObject({
      id: companyOf(world, lanterns).id,
      type: 'company',
      attributes: { raising: true, profile_available: true },
    });
    expect(await found('q=lanterns')).toEqual(['Harbour Lanterns']);
    expect(await found('q=harb%C3%B6ur')).toEqual(['Harbour Lanterns']);
    expect(await found('q=fishing+boats')).toEqual(['Harbour Lanterns']);
    expect(await found('q=funded')).toEqual(['Finished Symphony', 'Sunken Bells']);
    expect(await found('q=nothing+like+it')).toEqual([]);
    expect(await found('q=%21%21')).toEqual([]);
  });

  test('COMP-06 search marks a company the viewer may not open, or omits it', async () => {
    const [card] = (await search('q=lumen')).body.data;
    expect(card.attributes).toMatchObject({ raising: false, profile_available: false });
    expect((await search('q=lumen', explorer)).body.data[0].attributes).toMatchObject({
      raising: true,
      profile_available: true,
    });
    for (const q of ['vaulted', 'hidden', 'unproven']) expect(await found(`q=${q}`), q).toEqual([]);
    expect(await found('q=vaulted', explorer)).toEqual(['Vaulted Arch']);
    makeCompany(world, {});
    run(
      world.services.state,
      `INSERT INTO company_profiles (company_no, approved_at) SELECT max(no), 1 FROM companies`,
    );
    expect((await found('q=company')).filter((name) => /^Company \d/.test(name))).toEqual([]);
  });

  test('COMP-06 search omits an accredited-only company that is hidden, and a company without a round that opened', async () => {
    const { state } = world.services;
    const { no } = companyOf(world, 'lumen-works');
    run(state, 'UPDATE company_profiles SET hidden = 1 WHERE company_no = ?', [no]);
    const hidden = await found('q=lumen');
    run(state, 'UPDATE company_profiles SET hidden = 0 WHERE company_no = ?', [no]);
    expect([hidden, await found('q=lumen')]).toEqual([[], ['Lumen Works']]);
    const made = run(
      state,
      `INSERT INTO companies (id, name, slug, created_at) VALUES ('co_early', 'Early Days', 'early-days', 0)`,
      [],
    );
    run(state, 'INSERT INTO company_profiles (company_no, approved_at) VALUES (?, 1)', [made.no]);
    run(
      state,
      `INSERT INTO offerings (id, company_no, status, created_at) VALUES ('ofr_early', ?, 'upcoming', 0)`,
      [made.no],
    );
    expect(await found('q=early')).toEqual([]);
    run(state, `UPDATE offerings SET status = 'open' WHERE id = 'ofr_early'`, []);
    expect(await found('q=early')).toEqual(['Early Days']);
    run(state, 'UPDATE company_profiles SET approved_at = NULL WHERE company_no = ?', [made.no]);
  });

  test('COMP-06 PAGE-09 search returns eight results by default and twenty at most', async () => {
    const { state } = world.services;
    const made = Array.from({ length: 22 }, (_, index) => {
      const { no } = run(state, `INSERT INTO companies (id, name, slug, created_at) VALUES (?, ?, ?, 0)`, [
        `co_many${index}`,
        `Manifold ${index}`,
        `manifold-${index}`,
      ]);
      run(state, 'INSERT INTO company_profiles (company_no, approved_at) VALUES (?, 1)', [no]);
      run(state, 'INSERT INTO offerings (id, company_no, created_at) VALUES (?, ?, 0)', [
        `ofr_manifold${index}`,
        no,
      ]);
      return no;
    });
    const counts = [];
    for (const limit of ['', '&limit=3', '&limit=20', '&limit=50', '&limit=0'])
      counts.push((await found(`q=manifold${limit}`)).length);
    for (const no of made)
      run(state, 'UPDATE company_profiles SET approved_at = NULL WHERE company_no = ?', [no]);
    expect(counts).toEqual([8, 3, 20, 20, 8]);
  });

  test.each([
    ['', 'q'],
    ['q=', 'q'],
    ['q=%20', 'q'],
    [`q=${'x'.repeat(201)}`, 'q'],
    [`q=${encodeURIComponent('€'.repeat(170))}`, 'q'],
    ['q=a&limit=few', 'limit'],
  ])('COMP-06 search refuses ?%s', async (query, parameter) => {
    const answer = await search(query);
    expect(errorOf(answer)).toEqual([400, 'invalid_parameter']);
    expect(answer.body.error.details).toEqual({ parameter });
  });
});

describe('disclosures of a company', () => {
  test('COMP-14 the titles of directors and officers are a list, in the declaration too', async () => {
    const { body } = await read(lanterns, '/disclosures?sections=directors,officers');
    const { directors, officers } = body.data.attributes;
    const titles = ['Chief Executive Officer', 'President'];
    expect([directors[0].titles, officers[0].titles]).toEqual([titles, titles]);
    const one = { ...directors[0], titles: 'President' };
    expect(disclosureSectionShapes.directors.safeParse([one]).success).toBe(false);
  });

  const keysOf = (one: object): string[] => Object.keys(one).sort();
  const decimal = /^-?\d+(\.\d+)?$/;
  const section = async (name: string): Promise<Item> =>
    (await attributes(lanterns, `/disclosures?sections=${name}`))[name];

  test('COMP-07 COMP-08 disclosures name their round, both currencies and every section', async () => {
    const { body } = conforms(getDisclosures, await read(lanterns, '/disclosures'));
    const shown = body.data.attributes;
    expect(body.data).toMatchObject({ id: companyOf(world, lanterns).id, type: 'company_disclosures' });
    expect(keysOf(shown)).toEqual(
      ['currency', 'filing', 'financials_currency', 'offering_id', ...disclosureSections].sort(),
    );
    expect([shown.offering_id, shown.currency, shown.financials_currency]).toEqual([
      roundOf(world, lanterns, 1).id,
      'USD',
      'USD',
    ]);
  });

  test('COMP-09 the filing and the business have the declared fields', async () => {
    const shown = await attributes(lanterns, '/disclosures?sections=business');
    expect(shown.filing).toEqual({
      exemption: { family: 'reg_cf', subtype: null, label: 'Reg CF' },
      sec_filing_url: expect.any(String),
      filed: true,
      statement_date: '2026-06-30',
      fiscal_year_end: '--12-31',
    });
    expect(shown.business).toEqual({
      legal_name: expect.stringContaining('Harbour Lanterns'),
      legal_form: 'Corporation',
      jurisdiction: 'Delaware',
      incorporated_on: '2021-03-15',
      employees: expect.any(Number),
    });
  });

  test('COMP-10 each financial statement has eleven decimal figures, and a year without figures is absent', async () => {
    const years = await section('financial_statements');
    expect(Object.keys(years)).toEqual(['most_recent', 'prior']);
    for (const year of Object.values(years) as object[]) {
      expect(keysOf(year)).toEqual(
        [
          ...['total_assets', 'cash_and_equivalents', 'accounts_receivable', 'current_liabilities'],
          ...['non_current_liabilities', 'short_term_debt', 'long_term_debt', 'revenue'],
          ...['cost_of_goods_sold', 'taxes_paid', 'net_income'],
        ].sort(),
      );
      for (const figure of Object.values(year)) expect(figure).toMatch(decimal);
    }
  });

  test('COMP-12 the current position has its currency, its date and decimal figures', async () => {
    const { currency, cash_on_hand_as_of: date, ...figures } = await section('current_position');
    expect([currency, date]).toEqual(['USD', '2026-09-30']);
    expect(keysOf(figures)).toEqual([
      'average_monthly_burn',
      'average_monthly_cost_of_goods',
      'average_monthly_expenses',
      'average_monthly_revenue',
      'cash_on_hand',
    ]);
    for (const figure of Object.values(figures)) expect(figure).toMatch(decimal);
  });

  test('COMP-13 texts, documents and the use of funds have the declared fields', async () => {
    expect(await section('financial_condition')).toEqual(expect.any(String));
    for (const risk of await section('risks')) expect(risk).toEqual(expect.any(String));
    for (const name of ['financial_statement_documents', 'investment_documents'])
      expect(await section(name)).toEqual([
        { name: expect.any(String), url: expect.stringMatching(/^https:/) },
      ]);
    for (const use of await section('use_of_funds'))
      expect(use).toEqual({ if_raised: expect.stringMatching(decimal), plan: expect.any(String) });
  });

  test('COMP-14 people, voting power and capital structure have the declared fields', async () => {
    for (const name of ['directors', 'officers']) {
      const [person] = await section(name);
      expect(keysOf(person)).toEqual(['director', 'name', 'officer', 'since', 'titles']);
      expect(person).toMatchObject({ since: 2021, director: true, officer: true });
    }
    expect(await section('voting_power')).toEqual([
      {
        name: expect.any(String),
        holding: expect.any(String),
        voting_power_percent: expect.stringMatching(decimal),
      },
    ]);
    expect(keysOf((await section('capital_structure'))[0])).toEqual([
      'authorized',
      'class_of_security',
      'other_rights',
      'outstanding',
      'voting_rights',
    ]);
  });

  test('COMP-15 a prior offering has the declared fields', async () => {
    expect(await section('prior_offerings')).toEqual([
      {
        date: '2024-05-01',
        exemption: 'Section 4(a)(2)',
        security_type: 'SAFE',
        amount_sold: '150000.00',
        use_of_proceeds: 'General operations',
        offering_id: null,
      },
    ]);
  });

  test('COMP-16 an outstanding note has the declared fields', async () => {
    const [note] = await section('outstanding_notes');
    expect(note).toEqual({
      amount: '100000.00',
      outstanding_principal: '100000.00',
      valuation_cap: '5000000.00',
      uncapped: false,
      interest_rate_percent: '5.00',
      discount_percent: '20.00',
      maturity_date: '2027-05-01',
      description: null,
    });
  });

  test('COMP-17 outstanding debts and related parties have the declared fields', async () => {
    const debts = await section('outstanding_debts');
    expect(keysOf(debts)).toEqual(['items', 'note']);
    expect(keysOf(debts.items[0])).toEqual([
      'current_with_payments',
      'description',
      'maturity_date',
      'original_amount',
      'outstanding_principal',
    ]);
    const { no } = roundOf(world, lanterns, 1);
    const hide = (names: string) =>
      run(world.services.state, 'UPDATE disclosures SET hidden = ? WHERE offering_no = ?', [names, no]);
    hide('[]');
    const related = await section('related_parties');
    hide('["related_parties"]');
    expect(keysOf(related)).toEqual(['description', 'parties']);
    expect(keysOf(related.parties[0])).toEqual([
      'amount',
      'date',
      'description',
      'name',
      'outstanding_principal',
      'relationship',
    ]);
  });

  test('COMP-08 COMP-19 COMP-20 an ECSP round is in euro and its statements in their own currency', async () => {
    const shown = await attributes('copper-kettle-rail', '/disclosures');
    expect([shown.currency, shown.financials_currency, shown.current_position.currency]).toEqual([
      'EUR',
      'USD',
      'USD',
    ]);
    expect(shown.filing.exemption.family).toBe('ecsp');
    run(world.services.state, `UPDATE disclosures SET financials_currency = 'GBP' WHERE offering_no = ?`, [
      roundOf(world, 'copper-kettle-rail').no,
    ]);
    const after = await attributes('copper-kettle-rail', '/disclosures');
    expect([after.currency, after.financials_currency, after.current_position.currency]).toEqual([
      'EUR',
      'GBP',
      'GBP',
    ]);
  });

  test('COMP-08 disclosures are in the currency of their round, and in euro for an ECSP round whatever its own is', async () => {
    const { state } = world.services;
    for (const [slug, currency, shown] of [
      ['copper-kettle-rail', 'usd', 'EUR'],
      ['quiet-orchard', 'gbp', 'GBP'],
    ] as const) {
      const { no } = roundOf(world, slug);
      const before = one<{ currency: string }>(state, 'SELECT currency FROM offerings WHERE no = ?', [no]);
      run(state, 'UPDATE offerings SET currency = ? WHERE no = ?', [currency, no]);
      const disclosures = await attributes(slug, '/disclosures');
      run(state, 'UPDATE offerings SET currency = ? WHERE no = ?', [before?.currency ?? null, no]);
      expect([slug, disclosures.offering_id, disclosures.currency]).toEqual([
        slug,
        roundOf(world, slug).id,
        shown,
      ]);
    }
  });

  test('COMP-11 disclosures compute ratios from the most recent year', async () => {
    const { no } = roundOf(world, 'quiet-orchard');
    const figures = {
      total_assets: '3000.00',
      cash_and_equivalents: '1000.00',
      accounts_receivable: null,
      current_liabilities: '500.00',
      non_current_liabilities: '250.50',
      short_term_debt: '100.00',
      long_term_debt: '200.00',
      revenue: '7000.00',
      cost_of_goods_sold: '7500.00',
      taxes_paid: null,
      net_income: '-333.33',
    };
    const held = (sections: object) =>
      run(
        world.services.state,
        'UPDATE disclosures SET sections = json_patch(sections, ?) WHERE offering_no = ?',
        [JSON.stringify(sections), no],
      );
    held({ business: { employees: 3 }, financial_statements: { most_recent: figures } });
    const ratios = async () => (await attributes('quiet-orchard', '/disclosures?sections=ratios')).ratios;
    expect(await ratios()).toEqual({
      net_margin_percent: '-4.76',
      gross_margin_percent: '-7.14',
      return_on_assets_percent: '-11.11',
      liabilities_to_assets_percent: '25.02',
      debt_to_assets_percent: '10.00',
      cash_to_assets_percent: '33.33',
      revenue_per_employee: '2333.33',
    });
    held({
      business: { employees: 0 },
      financial_statements: { most_recent: { revenue: '0.00', total_assets: '0.00' } },
    });
    expect(Object.values(await ratios())).toEqual([null, null, null, null, null, null, null]);
  });

  test('COMP-18 a hidden section is null, and ratios reveal nothing of hidden statements', async () => {
    expect((await attributes(lanterns, '/disclosures')).related_parties).toBeNull();
    const { no } = roundOf(world, lanterns, 1);
    run(
      world.services.state,
      `UPDATE disclosures SET hidden = '["financial_statements","risks"]' WHERE offering_no = ?`,
      [no],
    );
    const shown = conforms(getDisclosures, await read(lanterns, '/disclosures')).body.data.attributes;
    run(world.services.state, `UPDATE disclosures SET hidden = '[]' WHERE offering_no = ?`, [no]);
    expect([shown.financial_statements, shown.ratios, shown.risks]).toEqual([null, null, null]);
    expect((await attributes(lanterns, '/disclosures')).related_parties).toMatchObject({
      parties: [{ relationship: 'Founder' }],
    });
  });

  test('COMP-21 disclosures of a note without a cap say that it is uncapped', async () => {
    const { outstanding_notes } = await attributes(lanterns, '/disclosures?sections=outstanding_notes');
    expect(outstanding_notes.map((note: Item) => [note.valuation_cap, note.uncapped])).toEqual([
      ['5000000.00', false],
      [null, true],
    ]);
  });

  test('COMP-22 COMP-26 the sections parameter narrows the disclosures and keeps the fields that identify the filing', async () => {
    const always = ['offering_id', 'currency', 'financials_currency', 'filing'];
    const keysOf = async (query: string) =>
      Object.keys(
        conforms(getDisclosures, await read(lanterns, `/disclosures?${query}`)).body.data.attributes,
      ).sort();
    expect(await keysOf('sections=risks,officers')).toEqual([...always, 'risks', 'officers'].sort());
    expect(await keysOf('sections=risks&sections=officers')).toEqual([...always, 'risks', 'officers'].sort());
    for (const section of disclosureSections)
      expect(await keysOf(`sections=${section}`)).toEqual([...always, section].sort());
    const risks = Array.from({ length: 1000 }, (_, index) => `Risk ${index}: ${'x'.repeat(90)}`);
    run(
      world.services.state,
      'UPDATE disclosures SET sections = json_set(sections, ?, json(?)) WHERE offering_no = ?',
      ['$.risks', JSON.stringify(risks), roundOf(world, lanterns, 1).no],
    );
    expect((await attributes(lanterns, '/disclosures')).risks).toEqual(risks);
  });

  test('COMP-23 disclosures refuse an unknown section and list the valid ones', async () => {
    const answer = await read(lanterns, '/disclosures?sections=risks,secrets');
    expect(errorOf(answer)).toEqual([400, 'invalid_parameter']);
    expect(answer.body.error.details).toEqual({ parameter: 'sections' });
    for (const section of disclosureSections) expect(answer.body.error.message).toContain(section);
  });

  test('COMP-25 a company without a Form C has no disclosures', async () => {
    for (const slug of ['tidal-ledger', 'paper-kites'])
      expect(errorOf(await read(slug, '/disclosures'))).toEqual([404, 'no_disclosures']);
    expect(errorOf(await read('lumen-works', '/disclosures', explorer))).toEqual([404, 'no_disclosures']);
  });
});

describe('the pitch of a company', () => {
  test('COMP-27 COMP-28 a pitch belongs to a round and says who wrote it', async () => {
    const { body } = conforms(getPitch, await read(lanterns, '/pitch'));
    expect(body.data.type).toBe('company_pitch');
    const { story: _, perks: __, ...head } = body.data.attributes;
    expect(head).toEqual({
      offering_id: roundOf(world, lanterns, 1).id,
      title: expect.stringContaining('Harbour Lanterns'),
      url: expect.stringMatching(/^https:/),
      authored_by: expect.stringMatching(/^(company|wefunder)$/),
      disclaimer: head.authored_by === 'company' ? null : expect.any(String),
    });
  });

  test('COMP-29 COMP-30 COMP-31 the story of a pitch has counted blocks of every kind', async () => {
    const { body } = conforms(getPitch, await read(lanterns, '/pitch'));
    const { story } = body.data.attributes;
    expect(story).toMatchObject({ image_count: 1, video_count: 1, inline_images_omitted: 0 });
    const texts = story.blocks.flatMap((block: Item) => block.items ?? block.text ?? []);
    expect(story.character_count).toBe(texts.join('').length);
    expect(new Set(story.blocks.map((block: Item) => block.type))).toEqual(
      new Set(['heading', 'paragraph', 'list', 'image', 'video', 'footnote']),
    );
    expect(
      story.blocks.filter((block: Item) => block.type === 'list').map((block: Item) => block.start),
    ).toEqual([3, undefined]);
    for (const block of story.blocks as Item[]) {
      if (block.type === 'heading') expect([1, 2, 3, 4, 5, 6]).toContain(block.level);
      if (['image', 'video'].includes(block.type)) expect(block.url).toMatch(/^https:/);
      if (block.type === 'video') expect(block.provider).toEqual(expect.any(String));
    }
  });

  test('COMP-29 the story of a pitch counts images, videos and the images it leaves out apart', async () => {
    const { state } = world.services;
    const before = one<{ no: number; blocks: string }>(
      state,
      'SELECT p.company_no AS no, p.blocks FROM pitches p JOIN companies c ON c.no = p.company_no WHERE c.slug = ?',
      [lanterns],
    );
    if (before === undefined) throw new Error('the company has no pitch');
    const blocks = (JSON.parse(before.blocks) as Item[]).flatMap((block) =>
      block.type === 'image' ? [block, block] : [block],
    );
    const set = 'UPDATE pitches SET blocks = ?, inline_images_omitted = ? WHERE company_no = ?';
    run(state, set, [JSON.stringify(blocks), 3, before.no]);
    const { body } = await read(lanterns, '/pitch');
    run(state, set, [before.blocks, 0, before.no]);
    expect(body.data.attributes.story).toMatchObject({
      image_count: 2,
      video_count: 1,
      inline_images_omitted: 3,
    });
  });

  test('COMP-32 the perks of a pitch are those of its round', async () => {
    const { body } = conforms(getPitch, await read(lanterns, '/pitch'));
    expect(body.data.attributes.perks).toEqual({
      offering_id: roundOf(world, lanterns, 1).id,
      currency: 'USD',
      described_in_pitch: false,
      tiers: [
        { qualifying_amount: '250.00', description: expect.any(String) },
        { qualifying_amount: '5000.00', description: expect.any(String) },
      ],
    });
  });

  test('COMP-28 a pitch written by the platform has a disclaimer, one written by the company has none', async () => {
    const authors = await Promise.all(
      ['harbour-lanterns', 'quiet-orchard'].map((slug) => attributes(slug, '/pitch')),
    );
    expect(authors.map((pitch) => [pitch.authored_by, pitch.disclaimer === null]).sort()).toEqual([
      ['company', true],
      ['wefunder', false],
    ]);
    run(world.services.state, `UPDATE pitches SET disclaimer = 'Ours.' WHERE authored_by = 'company'`, []);
    const own = await Promise.all(
      ['harbour-lanterns', 'quiet-orchard'].map((slug) => attributes(slug, '/pitch')),
    );
    expect(own).toEqual(authors);
  });

  test('COMP-33 a pitch shows a list that only refers to pictures as a placeholder', async () => {
    const { no } = roundOf(world, lanterns, 1);
    const described = async (tiers: object[], blocks?: object[]) => {
      run(world.services.state, 'UPDATE perks SET tiers = ? WHERE offering_no = ?', [
        JSON.stringify(tiers),
        no,
      ]);
      if (blocks !== undefined)
        run(world.services.state, 'UPDATE pitches SET blocks = ? WHERE company_no = ?', [
          JSON.stringify(blocks),
          companyOf(world, lanterns).no,
        ]);
      return (await attributes(lanterns, '/pitch?sections=perks')).perks.described_in_pitch;
    };
    const pointer = { qualifying_cents: null, description: 'See the images above for our perks' };
    expect(await described([pointer])).toBe(true);
    expect(await described([pointer, { qualifying_cents: 100, description: 'A mug' }])).toBe(false);
    expect(await described([pointer], [{ type: 'paragraph', text: 'No pictures.' }])).toBe(false);
  });

  test('COMP-34 the pitch of a page without a visible round has a story and no perks', async () => {
    const shown = await attributes('first-sparks', '/pitch');
    expect([shown.offering_id, shown.perks]).toEqual([null, null]);
    expect((await attributes('first-sparks', '/pitch', plain)).perks).not.toBeNull();
  });

  test('COMP-35 COMP-26 the sections parameter narrows the pitch', async () => {
    const always = ['offering_id', 'title', 'url', 'authored_by', 'disclaimer'];
    for (const sections of ['story', 'perks', 'story,perks']) {
      const { body } = conforms(getPitch, await read(lanterns, `/pitch?sections=${sections}`));
      expect(Object.keys(body.data.attributes)).toEqual([...always, ...sections.split(',')]);
    }
    const answer = await read(lanterns, '/pitch?sections=team');
    expect(errorOf(answer)).toEqual([400, 'invalid_parameter']);
    expect(answer.body.error.message).toContain('story, perks');
    const blocks = Array.from({ length: 700 }, () => ({ type: 'paragraph', text: 'x'.repeat(100) }));
    run(world.services.state, 'UPDATE pitches SET blocks = ? WHERE company_no = ?', [
      JSON.stringify(blocks),
      companyOf(world, lanterns).no,
    ]);
    expect((await attributes(lanterns, '/pitch')).story).toMatchObject({ blocks, character_count: 70_000 });
  });
});

describe('updates of a company', () => {
  const titles = async (token = key, slug = lanterns): Promise<string[]> =>
    (await read(slug, '/updates', token)).body.data.map((post: Item) => post.attributes.title);

  test('COMP-36 COMP-38 the list of updates says whose they are and how many', async () => {
    const { body } = conforms(listUpdates, await read(lanterns, '/updates'));
    expect(body.meta).toEqual({
      company: companyOf(world, lanterns).id,
      has_more: false,
      page_count: 2,
      next_cursor: null,
    });
  });

  test('COMP-37 COMP-39 the list of updates has pinned posts first, then the newest, without the full text', async () => {
    const { body } = conforms(listUpdates, await read(lanterns, '/updates'));
    expect(await titles()).toEqual(['In the news', 'A good quarter']);
    expect(body.data[0].attributes).toMatchObject({
      pinned: true,
      visibility: null,
      kind: 'spotlight',
      author: { name: 'Maker 1' },
    });
    for (const post of body.data) expect(post.attributes).not.toHaveProperty('content');
  });

  test('COMP-40 COMP-31 the list of updates shows each post only to its audience', async () => {
    const team = personToken(world, 'maker1@people.example', 'read:explore');
    const backer = personToken(world, 'backer9@people.example', 'read:explore');
    const everyone = ['In the news', 'A good quarter'];
    expect(await titles(plain)).toEqual(everyone);
    expect(await titles(explorer)).toEqual(['In the news', 'For those who follow us', 'A good quarter']);
    expect(await titles(backer)).toEqual(everyone);
    const bought = invest(world, { email: 'backer9@people.example', slug: lanterns, index: 1 });
    expect(await titles(backer)).toEqual([
      'In the news',
      'Report to investors',
      'For those who follow us',
      'A good quarter',
    ]);
    expect(await titles(team)).toEqual([
      'In the news',
      'Draft minutes',
      'Among founders',
      'Report to investors',
      'For those who follow us',
      'A good quarter',
    ]);
    const { no } = companyOf(world, lanterns);
    run(world.services.state, `INSERT INTO company_members VALUES (?, ?, 'editor', 1)`, [
      no,
      userNo(world, 'backer8@people.example'),
    ]);
    const editor = await titles(personToken(world, 'backer8@people.example', 'read:explore'));
    run(world.services.state, `DELETE FROM company_members WHERE company_no = ? AND tier = 'editor'`, [no]);
    expect(editor).toContain('Draft minutes');
    expect(editor).not.toContain('Among founders');
    expect(await titles(personToken(world, 'backer9@people.example', 'read:profile'))).toEqual(everyone);
    await world.control('DELETE', `/investments/${bought}`);
  });

  test('COMP-39 the list of updates omits drafts, scheduled posts and bounties', async () => {
    const { no } = companyOf(world, 'quiet-orchard');
    const before = await titles(key, 'quiet-orchard');
    for (const [kind, at] of [
      ['update', null],
      ['update', worldStart + day],
      ['bounty', 1],
    ] as const) {
      run(
        world.services.state,
        `INSERT INTO company_updates (id, company_no, kind, title, content, published_at, visibility) VALUES (?, ?, ?, 'Not yet', 'x', ?, 'public')`,
        [`upd${kind}${at}`, no, kind, at],
      );
    }
    expect(await titles(key, 'quiet-orchard')).toEqual(before);
  });

  test('COMP-41 COMP-42 a single update has its full text if the viewer may read it', async () => {
    const long = `A first line.\n\n${'Word '.repeat(200)}`;
    const { no } = companyOf(world, lanterns);
    run(
      world.services.state,
      `UPDATE company_updates SET content = ? WHERE company_no = ? AND visibility = 'public'`,
      [long, no],
    );
    const [, post] = (await read(lanterns, '/updates')).body.data;
    expect([...post.attributes.excerpt].length).toBeLessThanOrEqual(280);
    expect(post.attributes.excerpt).toMatch(/^A first line\. Word .*…$/);
    const { body } = conforms(getUpdate, await read(lanterns, `/updates/${post.id}`));
    expect(body.data).toEqual({ ...post, attributes: { ...post.attributes, content: long } });
    const hidden = one<{ id: string }>(
      world.services.state,
      `SELECT id FROM company_updates WHERE company_no = ? AND visibility = 'investors'`,
      [no],
    );
    for (const id of [hidden?.id, 'never'])
      expect(errorOf(await read(lanterns, `/updates/${id}`))).toEqual([404, 'not_found']);
    expect((await read('quiet-orchard', `/updates/${post.id}`)).status).toBe(404);
  });

  test('COMP-36 PAGE-09 PAGE-02 the list of updates has twenty posts a page, fifty at most, each post once', async () => {
    const { no, id } = companyOf(world, 'paper-kites');
    for (let index = 0; index < 60; index += 1) {
      run(
        world.services.state,
        `INSERT INTO company_updates (id, company_no, kind, content, published_at, visibility) VALUES (?, ?, 'update', 'x', ?, 'public')`,
        [`page${index}`, no, index % 7],
      );
    }
    const sizes = [];
    for (const size of ['', '?per_page=50', '?per_page=99', '?per_page=0'])
      sizes.push((await read('paper-kites', `/updates${size}`)).body.data.length);
    expect(sizes).toEqual([20, 50, 50, 20]);
    const ids = (await follow(world, `/companies/${id}/updates?per_page=7`, key)).map((post) => post.id);
    expect(ids.length).toBe(60);
    expect(new Set(ids).size).toBe(60);
    const foreign = (await read('paper-kites', '/updates')).body.meta.next_cursor;
    expect(errorOf(await read(lanterns, `/updates?cursor=${foreign}`))).toEqual([400, 'invalid_parameter']);
  });
});

describe('questions of a company', () => {
  const ask = async (query = '', token = key): Promise<Item> =>
    conforms(listQuestions, await read(lanterns, `/questions${query}`, token)).body;
  const texts = async (query: string): Promise<string[]> =>
    (await ask(query)).data.map((item: Item) => item.attributes.question);
  const [cost, profit, canada, first] = [
    'What is your customer acquisition cost?',
    'When will you be profitable?',
    'Do you ship to Canada?',
    'How was the money of the first round spent?',
  ];

  beforeAll(() => {
    const { no } = companyOf(world, lanterns);
    for (const [body, likes] of [
      [cost, 9],
      [profit, 3],
      [canada, 5],
      [first, 20],
    ] as const) {
      run(world.services.state, 'UPDATE comments SET likes_count = ? WHERE company_no = ? AND body = ?', [
        likes,
        no,
        body,
      ]);
    }
  });

  test('COMP-43 COMP-46 the list of questions has the answers, with each author and role', async () => {
    const { data, meta } = await ask();
    expect(meta).toEqual({
      company: companyOf(world, lanterns).id,
      sort: 'relevance',
      q: null,
      unanswered_by_team: false,
      past_raises: false,
      questions_since: new Date(worldStart - 20 * day).toISOString().slice(0, 10),
      total: 3,
      has_more: false,
      page_count: 3,
      next_cursor: null,
    });
    const item = data.find((one: Item) => one.attributes.question === cost);
    expect(item).toMatchObject({
      id: expect.stringMatching(/^cmt_/),
      type: 'company_question',
      attributes: {
        asked_by: { id: expect.stringMatching(/^usr_/), name: 'Backer 1', role: 'investor', team: false },
        answered_by_team: true,
        match: null,
        answers: [
          {
            id: expect.stringMatching(/^cmt_/),
            answer: 'About forty dollars, and falling.',
            answered_by: { name: 'Maker 1', role: 'founder', team: true },
          },
        ],
      },
    });
  });

  test('COMP-44 the list of questions omits past raises by default', async () => {
    expect(await texts('?sort=recent')).toEqual([canada, cost, profit]);
    const all = await ask('?sort=recent&past_raises=true');
    expect(all.data.map((item: Item) => item.attributes.question)).toEqual([canada, cost, profit, first]);
    expect(all.meta).toMatchObject({ past_raises: true, questions_since: null, total: 4 });
    expect((await read(lanterns, '/questions?past_raises=yes')).status).toBe(400);
    const { state } = world.services;
    const { no } = companyOf(world, lanterns);
    const asked = (at: number) =>
      run(state, 'UPDATE comments SET created_at = ? WHERE company_no = ? AND body = ?', [at, no, first]);
    const before = one<{ created_at: number }>(
      state,
      'SELECT created_at FROM comments WHERE company_no = ? AND body = ?',
      [no, first],
    );
    asked(worldStart - 20 * day);
    const atOpening = await texts('?sort=recent');
    asked(worldStart - 20 * day - 1);
    const earlier = await texts('?sort=recent');
    asked(before?.created_at ?? 0);
    expect([atOpening.includes(first), earlier.includes(first)]).toEqual([true, false]);
  });

  test('COMP-03 COMP-44 a raise of two legs has questions since the first of them opened, not since reservations did', async () => {
    const slug = 'sandbox-company-1';
    const { no } = companyOf(world, slug);
    const { state } = world.services;
    const rounds = all<{ no: number; status: string; testing_the_waters: number; started_at: number }>(
      state,
      'SELECT no, status, testing_the_waters, started_at FROM offerings WHERE company_no = ?',
      [no],
    );
    const open = rounds.filter(({ status }) => status === 'open');
    const reservations = open.filter(({ testing_the_waters: taken }) => taken === 1);
    const legs = open.filter(({ testing_the_waters: taken }) => taken === 0);
    expect([legs.length, reservations.length]).toEqual([2, 1]);
    const opened = (round: { no: number } | undefined, at: number) =>
      run(state, 'UPDATE offerings SET started_at = ? WHERE no = ?', [at, round?.no ?? 0]);
    const asked = [15, 25, 35].map((days) => worldStart - days * day);
    const questions = asked.map(
      (at) =>
        postComment(
          world.services,
          ...([
            {
              companyNo: no,
              questionNo: null,
              authorNo: userNo(world, ivan),
              body: `At ${at}?`,
              disclosureKey: null,
            },
            at,
          ] as const),
        ).id,
    );
    opened(reservations[0], worldStart - 60 * day);
    for (const [first, second] of [
      [30, 10],
      [10, 30],
    ] as const) {
      opened(legs[0], worldStart - first * day);
      opened(legs[1], worldStart - second * day);
      const { data, meta } = (await read(slug, '/questions?sort=recent')).body;
      expect(meta.questions_since).toBe(new Date(worldStart - 30 * day).toISOString().slice(0, 10));
      const ids = data.map(({ id }: Item) => id);
      expect(questions.map((id) => ids.includes(id))).toEqual([true, true, false]);
    }
    for (const round of open) opened(round, round.started_at);
    run(state, `DELETE FROM comments WHERE company_no = ? AND body LIKE 'At %'`, [no]);
  });

  test.each([
    ['relevance', [profit, cost, canada]],
    ['recent', [canada, cost, profit]],
    ['upvoted', [cost, canada, profit]],
    ['unanswered', [canada, cost, profit]],
  ])('COMP-45 the list of questions sorts with sort=%s', async (sort, expected) => {
    expect(await texts(`?sort=${sort}`)).toEqual(expected);
    expect((await ask(`?sort=${sort}`)).meta.sort).toBe(sort);
  });

  test('COMP-45 unanswered questions come before answered ones of any age', async () => {
    const { state } = world.services;
    const move = 'UPDATE comments SET created_at = created_at + ? WHERE body = ?';
    run(state, move, [-6 * day, canada]);
    const [recent, unanswered] = [await texts('?sort=recent'), await texts('?sort=unanswered')];
    run(state, move, [6 * day, canada]);
    expect(recent.indexOf(canada)).toBeGreaterThan(0);
    expect(unanswered).toEqual([canada, ...recent.filter((text) => text !== canada)]);
  });

  test('COMP-45 questions sort by relevance by default and by likes with upvoted; another value is refused', async () => {
    expect(await texts('')).toEqual(await texts('?sort=relevance'));
    expect(await texts('?sort=upvoted&past_raises=true')).toEqual([first, cost, canada, profit]);
    const answer = await read(lanterns, '/questions?sort=best');
    expect(errorOf(answer)).toEqual([400, 'invalid_parameter']);
    for (const word of ['relevance', 'recent', 'upvoted', 'unanswered'])
      expect(answer.body.error.message).toContain(word);
  });

  const quoted = (text: string) => encodeURIComponent(text);
  test.each([
    ['customer acquisition', [cost]],
    ['"customer acquisition"', [cost]],
    ['"acquisition customer"', []],
    ['custo', [cost]],
    ['do you shi', []],
    ['forty', [cost]],
    ['you', [cost, canada, profit]],
    ['you -canada', [cost, profit]],
    ['you -"', [cost, canada, profit]],
    ['CÁNADA', [canada]],
    ['nowhere', []],
    ['-canada', [cost, profit]],
  ])('COMP-46 the list of questions searches with q=%s', async (q, expected) => {
    const body = await ask(`?q=${quoted(q)}&sort=recent`);
    expect(body.data.map((item: Item) => item.attributes.question)).toEqual(expected);
    expect(body.meta).toMatchObject({ sort: 'search', q, total: expected.length });
    for (const item of body.data) expect(item.attributes.match).toBe(q === 'forty' ? 'answer' : 'question');
  });

  test('COMP-46 an empty question search is ignored, and a query over 200 bytes is refused', async () => {
    expect((await ask('?q=%20')).meta).toMatchObject({ sort: 'relevance', q: null, total: 3 });
    expect(errorOf(await read(lanterns, `/questions?q=${quoted('é'.repeat(101))}`))).toEqual([
      400,
      'invalid_parameter',
    ]);
    expect((await read(lanterns, `/questions?q=${quoted('é'.repeat(100))}`)).status).toBe(200);
  });

  test('COMP-46 unanswered_by_team returns questions without a visible answer of the team', async () => {
    expect(await texts('?unanswered_by_team=true')).toEqual([canada]);
    const { services } = world;
    const company = companyOf(world, lanterns).no;
    const question = one<{ no: number }>(
      services.state,
      'SELECT no FROM comments WHERE company_no = ? AND body = ?',
      [company, canada],
    );
    const wish = {
      companyNo: company,
      questionNo: question?.no ?? 0,
      body: 'I think so.',
      disclosureKey: null,
    };
    const answer = postComment(services, { ...wish, authorNo: userNo(world, ivan) }, worldStart);
    expect(await texts('?unanswered_by_team=true')).toEqual([canada]);
    const official = postComment(
      services,
      { ...wish, authorNo: userNo(world, 'maker1@people.example') },
      worldStart,
    );
    expect(await texts('?unanswered_by_team=true')).toEqual([]);
    run(services.state, 'UPDATE comments SET deleted_at = ? WHERE no IN (?, ?)', [
      worldStart,
      answer.no,
      official.no,
    ]);
    expect(await texts('?unanswered_by_team=true')).toEqual([canada]);
  });

  test('COMP-46 a question of a closed account shows no name', async () => {
    const asker = one<{ id: string }>(
      world.services.state,
      `SELECT id FROM users WHERE email = 'backer3@people.example'`,
    );
    await world.control('POST', `/users/${asker?.id}/deactivate`);
    const item = (await ask()).data.find((one: Item) => one.attributes.question === canada);
    expect(item.attributes.asked_by).toEqual({ id: null, name: null, role: null, team: false });
  });

  test('COMP-46 PAGE-09 the list of questions has twenty a page, fifty at most', async () => {
    const { no, id } = companyOf(world, 'paper-kites');
    for (let index = 0; index < 60; index += 1) {
      postComment(
        world.services,
        {
          companyNo: no,
          questionNo: null,
          authorNo: userNo(world, ivan),
          body: `Question ${index}?`,
          disclosureKey: null,
        },
        worldStart - (index % 9),
      );
    }
    const size = async (query: string) => (await read('paper-kites', `/questions${query}`)).body.data.length;
    expect([await size(''), await size('?per_page=60'), await size('?per_page=5')]).toEqual([20, 50, 5]);
    for (const sort of ['relevance', 'recent', 'upvoted', 'unanswered']) {
      const items = await follow(world, `/companies/${id}/questions?sort=${sort}&per_page=17`, key);
      expect(new Set(items.map((item) => item.id)).size).toBe(60);
    }
  });
});
