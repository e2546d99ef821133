import { describe, expect, test } from 'vitest';
import { businessModels, industries, securityTypes } from '../../src/platform/contract/vocabulary.js';
import { run } from '../../src/platform/state/statements.js';
import { companyOf, errorOf, follow, ida, personToken, roundOf } from './catalog.js';
import { day, type Item, names, offeringPages } from './offering-pages.js';
import { worldStart } from './running-platform.js';

const { world, key, explorer, read, listed, closedOfSandbox, privateRound } = await offeringPages();

describe('exploring offerings', () => {
  test('CAT-15 the meta of explore echoes the request', async () => {
    const plain = (await read('/explore')).body;
    expect(plain.meta).toEqual({
      total_count: plain.data.length,
      page_count: plain.data.length,
      has_more: false,
      next_cursor: null,
      status: 'live',
      sort: 'most_raised',
      personalized: false,
      filters: {},
    });
    const { meta: first } = (await read('/explore?per_page=1')).body;
    expect(first).toMatchObject({ total_count: plain.data.length, page_count: 1, has_more: true });
    const query =
      'sort=newest&exemption=reg_cf&security=safe&testing_the_waters=false&max_min_investment=1000.50&closing_before=2027-12-31&min_amount_raised=1&industry=energy,clean_tech&business_model=b2c&business_model=ecommerce&unknown=1';
    const { meta } = (await read(`/explore?${query}`)).body;
    expect(meta).toMatchObject({ status: 'live', sort: 'newest', total_count: 1 });
    expect(meta.filters).toEqual({
      exemption: 'reg_cf',
      security: 'safe',
      testing_the_waters: false,
      max_min_investment: 1000.5,
      closing_before: '2027-12-31',
      min_amount_raised: 1,
      industry: ['energy', 'clean_tech'],
      business_model: ['b2c', 'ecommerce'],
    });
    expect((await read('/explore?status=closed')).body.meta.sort).toBeNull();
  });

  test('PAGE-01 PAGE-03 PAGE-04 a page of explore has more and a cursor, except the last', async () => {
    const { total_count: all } = (await read('/explore?status=all')).body.meta;
    let cursor = '';
    for (let seen = 0; seen < all; ) {
      const { data, meta } = (await read(`/explore?status=all&per_page=3${cursor}`)).body;
      seen += data.length;
      expect(meta.has_more).toBe(seen < all);
      expect(meta.next_cursor === null).toBe(seen === all);
      cursor = `&cursor=${meta.next_cursor}`;
    }
  });

  test('CAT-16 PAGE-02 explore returns every offering once in one order with any page size', async () => {
    for (const query of ['status=all', 'status=live&sort=newest', 'status=closed', 'sort=most_investors']) {
      const whole = (await read(`/explore?${query}`)).body;
      for (const size of [1, 2, 3]) {
        const items = await follow(world, `/explore?${query}&per_page=${size}`, key);
        expect(items).toEqual(whole.data);
      }
      expect(whole.meta.total_count).toBe(whole.data.length);
      expect((await read(`/explore?${query}&per_page=2`)).body.meta.total_count).toBe(whole.data.length);
    }
  });

  test('CAT-16 PAGE-10 explore returns 400 for a cursor of another list, an altered one and an invented one', async () => {
    const { next_cursor } = (await read('/explore?per_page=1')).body.meta;
    const broken = [
      `${next_cursor}x`,
      'p_AAAA',
      '25',
      `p_${Buffer.from(`${'0'.repeat(16)}[0,1,"x"]`).toString('base64url')}`,
    ];
    for (const path of [
      ...broken.map((cursor) => `/explore?cursor=${cursor}`),
      `/explore?status=closed&cursor=${next_cursor}`,
    ]) {
      const answer = await read(path);
      expect(errorOf(answer), path).toEqual([400, 'invalid_parameter']);
      expect(answer.body.error.details).toEqual({ parameter: 'cursor' });
    }
    expect((await read(`/explore?per_page=1&cursor=${next_cursor}`)).status).toBe(200);
  });

  test('PAGE-10 explore refuses a per_page that is no number', async () => {
    expect(errorOf(await read('/explore?per_page=many'))).toEqual([400, 'invalid_parameter']);
    expect((await read('/explore?per_page=2')).body.meta.page_count).toBe(2);
  });

  test('PAGE-06 PAGE-07 PAGE-08 explore returns 25 by default and at most 100; zero and negative values mean the default', async () => {
    const { state } = world.services;
    const { no } = companyOf(world, 'finished-symphony');
    const made = Array.from(
      { length: 110 },
      (_, index) =>
        run(
          state,
          `INSERT INTO offerings (id, company_no, status, created_at, closed_at) VALUES (?, ?, 'closed', 0, 1)`,
          [`ofr_many${String(index).padStart(3, '0')}`, no],
        ).no,
    );
    const sizes = [
      '',
      '&per_page=0',
      '&per_page=-3',
      '&per_page=7',
      '&per_page=100',
      '&per_page=101',
      '&per_page=4000',
    ];
    const counts = await Promise.all(
      sizes.map(async (size) => (await read(`/explore?status=closed${size}`)).body.data.length),
    );
    const ties = (await follow(world, '/explore?status=closed&per_page=40', key))
      .slice(-110)
      .map((item) => item.id);
    for (const offering of made) run(state, 'DELETE FROM offerings WHERE no = ?', [offering]);
    expect(counts).toEqual([25, 25, 25, 7, 100, 100, 100]);
    // CAT-18: rounds of the same instant are ordered by id.
    expect(ties).toEqual([...ties].sort());
  });

  test('CAT-13 CAT-18 CAT-19 explore lists closed rounds newest first, and all as the live ones before the closed', async () => {
    const live = (await read('/explore')).body.data;
    const closed = (await read('/explore?status=closed')).body.data;
    const both = (await read('/explore?status=all')).body.data;
    expect(live.every((item: Item) => item.attributes.status === 'open')).toBe(true);
    expect(closed.every((item: Item) => item.attributes.status === 'closed')).toBe(true);
    expect(names(closed)).toEqual([
      ...closedOfSandbox(),
      'Finished Symphony',
      'Sunken Bells',
      'Harbour Lanterns',
      'Finished Symphony',
    ]);
    const ended = closed.map((item: Item) => item.attributes.closed_at);
    expect(ended).toEqual([...ended].sort().reverse());
    expect(both).toEqual([...live, ...closed]);
  });

  test('CAT-17 explore lists live rounds by default, and refuses another status with the known ones', async () => {
    const live = (await read('/explore')).body.data;
    expect((await read('/explore?status=live')).body.data).toEqual(live);
    const wrong = await read('/explore?status=open');
    expect(errorOf(wrong)).toEqual([400, 'invalid_parameter']);
    for (const word of ['live', 'closed', 'all']) expect(wrong.body.error.message).toContain(word);
  });

  test('CAT-08 explore lists one live offering per company', async () => {
    const companies = (await read('/explore', explorer)).body.data.map((item: Item) => item.company);
    expect(new Set(companies).size).toBe(companies.length);
  });

  test('CAT-36 CAT-08 of several live rounds explore lists the public one, then the one that accepts money, then the newest', async () => {
    const { state } = world.services;
    const maker = personToken(world, 'maker2@people.example', 'read:explore');
    const orchard = roundOf(world, 'quiet-orchard');
    const lead = async (token = key) =>
      (await read('/explore', token)).body.data.find(
        (item: Item) => item.company === companyOf(world, 'quiet-orchard').id,
      )?.id;
    const whispered = privateRound('quiet-orchard', 'ofr_whispered');
    expect([await lead(), await lead(maker)]).toEqual([orchard.id, orchard.id]);
    run(state, `UPDATE offering_terms SET exemption_subtype = '506c' WHERE offering_no = ?`, [whispered.no]);
    expect([await lead(), await lead(maker)]).toEqual(['ofr_whispered', 'ofr_whispered']);
    run(state, 'UPDATE offerings SET testing_the_waters = 1 WHERE no = ?', [whispered.no]);
    expect(await lead()).toBe(orchard.id);
    whispered.remove();
  });

  test('CAT-22 CAT-18 explore lists the same public closed rounds to every caller', async () => {
    const { state } = world.services;
    const { no } = roundOf(world, 'private-pastures');
    run(state, `UPDATE offerings SET status = 'closed', closed_at = ? WHERE no = ?`, [worldStart - day, no]);
    const ids = async (token: string) =>
      (await read('/explore?status=closed', token)).body.data.map((item: Item) => item.id);
    expect(await ids(explorer)).toEqual(await ids(key));
    expect(await listed('?status=closed', explorer)).not.toContain('Private Pastures');
    run(state, `UPDATE offerings SET status = 'open', closed_at = NULL WHERE no = ?`, [no]);
  });

  const refused = [
    'security=safe',
    'testing_the_waters=true',
    'max_min_investment=5',
    'closing_before=2027-01-01',
    'min_amount_raised=1',
    'industry=energy',
    'business_model=b2b',
  ];
  test.each(
    refused.flatMap(
      (filter) =>
        [
          ['closed', filter],
          ['all', filter],
        ] as const,
    ),
  )('CAT-20 explore with status=%s refuses the filter %s', async (status, filter) => {
    const answer = await read(`/explore?status=${status}&${filter}`);
    expect(errorOf(answer)).toEqual([400, 'invalid_parameter']);
    expect(answer.body.error.details).toEqual({ parameter: filter.split('=')[0] });
  });

  test('CAT-20 explore refuses the followed filter with closed rounds and accepts exemption', async () => {
    expect((await read('/explore?status=closed&followed=true', explorer)).status).toBe(400);
    expect(await listed('?status=closed&exemption=reg_cf')).toHaveLength(6);
    expect(await listed('?status=closed&exemption=reg_d')).toEqual([]);
    expect((await read('/explore?status=all&exemption=reg_d')).body.meta.filters).toEqual({
      exemption: 'reg_d',
    });
  });

  test('CAT-21 explore refuses sort with closed, and sorts the live part of all', async () => {
    const answer = await read('/explore?status=closed&sort=newest');
    expect(errorOf(answer)).toEqual([400, 'invalid_parameter']);
    expect(answer.body.error.details).toEqual({ parameter: 'sort' });
    const live = (await read('/explore?sort=newest')).body.data;
    const closed = (await read('/explore?status=closed')).body.data;
    expect((await read('/explore?status=all&sort=newest')).body.data).toEqual([...live, ...closed]);
  });

  const far = Number.MAX_SAFE_INTEGER;
  const orders: [string, (item: Item) => number][] = [
    ['most_raised', (item) => -item.attributes.amount_raised_cents],
    [
      'closing_soon',
      (item) => (item.attributes.closes_at === null ? far : Date.parse(item.attributes.closes_at)),
    ],
    ['newest', (item) => -Date.parse(item.attributes.started_at)],
    ['most_investors', (item) => -item.attributes.investor_count],
  ];
  test.each(orders)('CAT-23 explore sorts with sort=%s', async (sort, rankOf) => {
    const values = (await read(`/explore?sort=${sort}`)).body.data.map(rankOf);
    expect(values).toEqual([...values].sort((a, b) => a - b));
    expect(new Set(values).size).toBeGreaterThan(2);
  });

  test('CAT-23 explore sorts by most_raised by default and refuses another value with the four valid ones', async () => {
    expect((await read('/explore')).body.data).toEqual((await read('/explore?sort=most_raised')).body.data);
    const { body } = await read('/explore?sort=oldest');
    for (const [sort] of orders) expect(body.error.message).toContain(sort);
  });

  const filters: [string, string, (item: Item) => boolean][] = [
    ['CAT-24', 'exemption=reg_cf', (item) => item.attributes.exemption.family === 'reg_cf'],
    ['CAT-24', 'exemption=reg_d', (item) => item.attributes.exemption.family === 'reg_d'],
    ...securityTypes.map((type): [string, string, (item: Item) => boolean] => [
      'CAT-25',
      `security=${type}`,
      (item) => item.attributes.security?.type === type,
    ]),
    ['CAT-26', 'testing_the_waters=false', (item) => !item.attributes.testing_the_waters],
    ['CAT-26', 'testing_the_waters=true', (item) => item.attributes.testing_the_waters],
    ['CAT-27', 'max_min_investment=100', (item) => item.attributes.min_investment_cents <= 10_000],
    ['CAT-27', 'max_min_investment=99.99', (item) => item.attributes.min_investment_cents <= 9999],
    [
      'CAT-28',
      'closing_before=2026-11-20',
      (item) => item.attributes.closes_at !== null && item.attributes.closes_at < '2026-11-20',
    ],
    ['CAT-28', 'closing_before=2027-06-01', (item) => item.attributes.closes_at !== null],
    ['CAT-29', 'min_amount_raised=9000', (item) => item.attributes.amount_raised_cents >= 900_000],
    ['CAT-29', 'min_amount_raised=9000.01', (item) => item.attributes.amount_raised_cents >= 900_001],
    ['CAT-30', 'industry=energy', (item) => hasAny(item.attributes.industries, ['energy'])],
    ['CAT-30', 'industry=energy,edtech', (item) => hasAny(item.attributes.industries, ['energy', 'edtech'])],
    [
      'CAT-30',
      'industry=energy&industry=edtech',
      (item) => hasAny(item.attributes.industries, ['energy', 'edtech']),
    ],
    [
      'CAT-30',
      'industry[]=energy&industry[]=edtech',
      (item) => hasAny(item.attributes.industries, ['energy', 'edtech']),
    ],
    ['CAT-31', 'business_model=saas', (item) => hasAny(item.attributes.business_models, ['saas'])],
    [
      'CAT-31',
      'business_model=saas,retail',
      (item) => hasAny(item.attributes.business_models, ['saas', 'retail']),
    ],
  ];
  const hasAny = (held: Item[], wanted: string[]) => held.some((one) => wanted.includes(one.type));
  test.each(filters)('%s %s returns exactly the offerings that match', async (_, query, keeps) => {
    for (const token of [key, explorer]) {
      const all = (await read('/explore', token)).body.data;
      const kept = (await read(`/explore?${query}`, token)).body;
      expect(kept.data).toEqual(all.filter(keeps));
      expect(kept.meta.total_count).toBe(kept.data.length);
    }
  });

  test('CAT-28 closing_before leaves out what closes at that moment', async () => {
    const [item] = (await read('/explore?closing_before=2027-06-01')).body.data;
    const { closes_at: closes } = item.attributes;
    const ids = async (before: string) =>
      (await read(`/explore?closing_before=${before}`)).body.data.map(({ id }: Item) => id);
    expect(await ids(closes)).not.toContain(item.id);
    expect(await ids(new Date(Date.parse(closes) + 1).toISOString())).toContain(item.id);
  });

  test('CAT-25 security matches no round of reservations, whatever it will sell', async () => {
    const [item] = (await read('/explore?testing_the_waters=true')).body.data;
    const intend = (security: string | null) =>
      run(
        world.services.state,
        `UPDATE offering_terms SET security_type = ?
         WHERE offering_no = (SELECT no FROM offerings WHERE id = ?)`,
        [security, item.id],
      );
    intend('debt');
    const ids = (await read('/explore?security=debt')).body.data.map(({ id }: Item) => id);
    intend(null);
    expect(ids).not.toContain(item.id);
  });

  test('each filter above keeps some offerings and drops some', async () => {
    const all = await listed();
    const counts = await Promise.all(filters.map(async ([, query]) => (await listed(`?${query}`)).length));
    expect(counts.filter((count) => count > 0 && count < all.length).length).toBeGreaterThan(12);
  });

  test('CAT-32 followed filters on followed offerings or the rest, and the public view refuses it', async () => {
    const all = (await read('/explore', explorer)).body.data;
    for (const wanted of [true, false]) {
      const { data } = (await read(`/explore?followed=${wanted}`, explorer)).body;
      expect(data).toEqual(all.filter((item: Item) => item.attributes.followed === wanted));
      expect(data.length).toBeGreaterThan(1);
    }
    for (const token of [
      key,
      world.ready.companies[0]?.token ?? '',
      personToken(world, ida, 'write:follows'),
    ]) {
      const answer = await read('/explore?followed=true', token);
      expect(errorOf(answer)).toEqual([400, 'invalid_parameter']);
      expect(answer.body.error.details).toEqual({ parameter: 'followed' });
    }
  });

  test.each([
    ['exemption', 'reg_a', ['reg_cf', 'reg_d']],
    ['security', 'bond', [...securityTypes]],
    ['testing_the_waters', 'maybe', ['true', 'false']],
    ['industry', 'energy,alchemy', [...industries]],
    ['business_model', 'barter', [...businessModels]],
    ['industry', ',', [...industries]],
    ['closing_before', 'soon', ['ISO 8601']],
    ['closing_before', '2026-02-30', ['ISO 8601']],
    ['max_min_investment', 'ten', ['dollars']],
    ['min_amount_raised', '-1', ['dollars']],
  ] as const)(
    'CAT-14 CAT-33 ERR-06 explore refuses %s=%s and names the accepted values',
    async (parameter, value, accepted) => {
      const answer = await read(`/explore?${parameter}=${value}`);
      expect(errorOf(answer)).toEqual([400, 'invalid_parameter']);
      expect(answer.body.error.details).toEqual({ parameter });
      for (const word of accepted) expect(answer.body.error.message).toContain(word);
    },
  );
});
