import { describe, expect, test } from 'vitest';
import { searchCompanies } from '../../src/platform/contract/companies.js';
import { run } from '../../src/platform/state/statements.js';
import { companyOf, conforms, errorOf } from './catalog.js';
import { companyPages, type Item, lanterns } from './company-pages.js';
import { makeCompany } from './credentials.js';

const { world, key, explorer } = await companyPages();

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
