import { describe, expect, test } from 'vitest';
import { disclosureSectionShapes, getDisclosures } from '../../src/platform/contract/company-disclosures.js';
import { disclosureSections } from '../../src/platform/contract/vocabulary.js';
import { one, run } from '../../src/platform/state/statements.js';
import { companyOf, conforms, errorOf, roundOf } from './catalog.js';
import { companyPages, type Item, lanterns } from './company-pages.js';

const { world, explorer, read, attributes } = await companyPages();

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
