import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { explore, getOffering } from '../../src/platform/contract/offerings.js';
import { businessModels, industries, securityTypes } from '../../src/platform/contract/vocabulary.js';
import { run } from '../../src/platform/state/statements.js';
import {
  applicationToken,
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
  roundsOf,
} from './catalog.js';
import { makeClient } from './credentials.js';
import { type RunningPlatform, startPlatform, worldStart } from './running-platform.js';

// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
type Item = any;

let world: RunningPlatform;
let key: string;
let explorer: string;
const day = 86_400_000;

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  key = publishableKey(world);
  explorer = personToken(world, ida, 'read:explore');
});
afterAll(() => world.close());

const read = (path: string, token = key) => world.get(path, { token });
const names = (items: readonly Item[]): string[] => items.map((item) => item.attributes.company_name);
const listed = async (query = '', token = key) => names((await read(`/explore${query}`, token)).body.data);
const attributesOf = (slug: string, index: number, token = key) =>
  read(`/offerings/${roundOf(world, slug, index).id}`, token).then((answer) => answer.body.data.attributes);

/** The companies of the seed, each with a round that was closed at the same time, by the id of that round. */
const closedOfSandbox = (): readonly string[] =>
  world.ready.companies
    .map(({ name, offerings }) => ({ name, closed: offerings.at(-1) ?? '' }))
    .sort((a, b) => (a.closed < b.closed ? -1 : 1))
    .map(({ name }) => name);

/** A private round beside the public one of a company, newer than it. */
function privateRound(slug: string, id: string) {
  const { state } = world.services;
  const { no } = run(
    state,
    `INSERT INTO offerings (id, company_no, started_at, created_at) VALUES (?, ?, ?, ?)`,
    [id, companyOf(world, slug).no, worldStart, worldStart],
  );
  run(
    state,
    `INSERT INTO offering_terms (offering_no, exemption, exemption_subtype) VALUES (?, 'reg_d', '506b')`,
    [no],
  );
  return {
    no,
    remove: () => {
      run(state, 'DELETE FROM offering_terms WHERE offering_no = ?', [no]);
      run(state, 'DELETE FROM offerings WHERE no = ?', [no]);
    },
  };
}

describe('an offering record', () => {
  test('CAT-04 CAT-07 every offering of explore has its company, links and status', async () => {
    const { body } = conforms(explore, await read('/explore?status=all'));
    for (const { attributes } of body.data) {
      for (const field of ['company_name', 'tagline', 'url', 'card_image_url', 'logo_url'])
        expect([field, typeof attributes[field]]).toEqual([field, 'string']);
      for (const field of ['form_c_url', 'spv_legal_name'])
        expect(['string', 'object']).toContain(typeof attributes[field]);
      expect(['open', 'closed']).toContain(attributes.status);
    }
    for (const field of ['form_c_url', 'spv_legal_name'])
      expect(body.data.map(({ attributes }: Item) => typeof attributes[field])).toContain('string');
  });

  test('CAT-06 CAT-09 CAT-11 every offering of explore has its security, kind, numbers and times', async () => {
    const { body } = conforms(explore, await read('/explore?status=all'));
    for (const { attributes } of body.data) {
      const { security, intended_security, testing_the_waters } = attributes;
      expect(typeof testing_the_waters).toBe('boolean');
      expect([security === null, intended_security === null]).toEqual([
        testing_the_waters,
        !testing_the_waters,
      ]);
      for (const labelled of [...attributes.industries, ...attributes.business_models])
        expect(Object.keys(labelled).sort()).toEqual(['label', 'type']);
      expect(Number.isInteger(attributes.investor_count)).toBe(true);
      expect(typeof attributes.followed).toBe('boolean');
      for (const field of ['started_at', 'closes_at', 'closed_at'])
        if (attributes[field] !== null)
          expect(new Date(attributes[field]).toISOString()).toBe(attributes[field]);
    }
  });

  test('CAT-02 CAT-14 every item of explore has the declared shape', async () => {
    const { body } = conforms(explore, await read('/explore?status=all'));
    expect(body.data.length).toBeGreaterThan(8);
    for (const item of body.data) {
      expect(item).toMatchObject({
        id: expect.stringMatching(/^ofr_/),
        type: 'offering',
        company: expect.stringMatching(/^co_/),
      });
      expect(Object.keys(item).sort()).toEqual(['attributes', 'company', 'etag', 'id', 'type', 'warnings']);
    }
  });

  test.each([
    [
      'harbour-lanterns',
      1,
      'safe',
      {
        valuation_cap: '8000000.00',
        uncapped: false,
        discount_percent: '20',
        most_favored_nation: false,
        pro_rata: true,
      },
    ],
    [
      'harbour-lanterns',
      0,
      'safe',
      {
        valuation_cap: null,
        uncapped: true,
        discount_percent: '15',
        most_favored_nation: true,
        pro_rata: false,
      },
    ],
    [
      'quiet-orchard',
      0,
      'equity',
      { share_price: '2.50', pre_money_valuation: '20000000.00', share_class: 'preferred' },
    ],
    [
      'tidal-ledger',
      0,
      'convertible_note',
      {
        valuation_cap: '12000000.00',
        uncapped: false,
        discount_percent: '10',
        interest_rate_percent: '6',
        maturity_months: 24,
        most_favored_nation: false,
      },
    ],
    [
      'copper-kettle-rail',
      0,
      'revenue_share',
      {
        revenue_share_percent: '4',
        repayment_cap_multiple: '1.5',
        payment_period: 'quarterly',
        revenue_basis: 'gross',
        secured: false,
        guarantor: null,
      },
    ],
    [
      'finished-symphony',
      1,
      'other',
      { name: 'Revenue note', description: 'Paid from tickets.', more_info_url: null },
    ],
  ] as const)(
    'CAT-06 CAT-08 the terms of %s round %i match its security %s',
    async (slug, index, type, terms) => {
      const { security, intended_security } = await attributesOf(slug, index);
      expect(security).toEqual({ type, label: expect.any(String), terms });
      expect(intended_security).toBeNull();
    },
  );

  test('CAT-05 CAT-08 the exemption of an offering is a family, with a subtype for Reg D only', async () => {
    expect((await attributesOf('harbour-lanterns', 1)).exemption).toEqual({
      family: 'reg_cf',
      subtype: null,
      label: 'Reg CF',
    });
    expect((await attributesOf('tidal-ledger', 0)).exemption).toEqual({
      family: 'reg_d',
      subtype: '506c',
      label: 'Reg D 506(c)',
    });
  });

  test('CAT-09 a testing-the-waters round has an intended security and no actual one', async () => {
    const attributes = await attributesOf('paper-kites', 0);
    expect(attributes).toMatchObject({
      testing_the_waters: true,
      security: null,
      intended_security: { type: 'safe', label: 'SAFE' },
    });
  });

  test('CAT-10 CONV-16 VERS-21 dollar fields are computed from the cents on both versions', async () => {
    for (const version of ['2026-10-01', '2026-10-15']) {
      const { body } = await world.get('/explore?status=all', {
        token: key,
        headers: { 'Service-Version': version },
      });
      for (const { attributes } of body.data) {
        for (const name of ['funding_target', 'max_funding_target', 'min_investment', 'amount_raised']) {
          const cents = attributes[`${name}_cents`];
          expect(Number.isInteger(cents)).toBe(true);
          expect(attributes[name]).toBe(`${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`);
        }
      }
    }
  });

  test('CAT-11 CAT-10 the amount raised is the sum of the published records and follows their changes', async () => {
    const { id } = roundOf(world, 'quiet-orchard');
    const before = (await read(`/offerings/${id}`)).body.data;
    const bought = invest(world, { email: ivan, slug: 'quiet-orchard', cents: 25_000 });
    const after = (await read(`/offerings/${id}`)).body.data;
    expect(after.attributes.amount_raised_cents).toBe(before.attributes.amount_raised_cents + 25_000);
    expect(after.attributes.investor_count).toBe(before.attributes.investor_count + 1);
    expect(after.etag).not.toBe(before.etag);
    await world.control('DELETE', `/investments/${bought}`);
    expect((await read(`/offerings/${id}`)).body.data).toEqual(before);
  });

  test('CAT-02 the etag is a digest of the attributes and changes only with them', async () => {
    const { data } = (await read(`/offerings/${roundOf(world, 'quiet-orchard').id}`)).body;
    const digest = createHash('sha256').update(JSON.stringify(data.attributes)).digest('hex');
    expect(digest.startsWith(data.etag)).toBe(true);
    const again = (await read('/explore')).body.data.find((item: Item) => item.id === data.id);
    expect(again.etag).toBe(data.etag);
  });

  test('CAT-03 an offering lists the prior and concurrent rounds that the viewer may see', async () => {
    const warned = async (slug: string, index: number, token = key) => {
      const { body } = await read(`/offerings/${roundOf(world, slug, index).id}`, token);
      return body.data.warnings.map((warning: Item) => warning.code);
    };
    expect(await warned('harbour-lanterns', 1)).toEqual(['prior_rounds']);
    expect(await warned('harbour-lanterns', 0)).toEqual(['concurrent_rounds']);
    expect(await warned('quiet-orchard', 0)).toEqual([]);
    expect((await warned('sandbox-company-1', 0)).includes('concurrent_rounds')).toBe(true);
    const open = privateRound('quiet-orchard', 'ofr_whispered');
    expect(await warned('quiet-orchard', 0)).toEqual([]);
    expect(
      await warned('quiet-orchard', 0, personToken(world, 'maker2@people.example', 'read:explore')),
    ).toEqual(['concurrent_rounds']);
    open.remove();
  });

  test('CAT-11 only an open round shows closes_at', async () => {
    expect((await attributesOf('quiet-orchard', 0)).closes_at).toBe(
      new Date(worldStart + 6 * day).toISOString(),
    );
    run(world.services.state, 'UPDATE offerings SET closes_at = ? WHERE no = ?', [
      worldStart,
      roundOf(world, 'sunken-bells').no,
    ]);
    expect(await attributesOf('sunken-bells', 0)).toMatchObject({
      closes_at: null,
      closed_at: new Date(worldStart - 260 * day).toISOString(),
    });
  });
});

describe('visibility of offerings', () => {
  test('CAT-01 CAT-38 OAUTH-25 keys, applications, installations and people read the public catalog', async () => {
    const client = makeClient(world);
    const tokens = [
      key,
      applicationToken(world, client),
      personToken(world, ivan, 'read:profile'),
      world.ready.companies[0]?.token ?? '',
    ];
    const { id } = roundOf(world, 'harbour-lanterns', 1);
    for (const token of tokens) {
      expect((await read('/explore', token)).status).toBe(200);
      conforms(getOffering, await read(`/offerings/${id}`, token));
      expect((await read(`/companies/${companyOf(world, 'harbour-lanterns').id}`, token)).status).toBe(200);
      expect((await read('/companies/search?q=harbour', token)).status).toBe(200);
    }
  });

  test('CAT-14 CAT-38 the catalog refuses a request without a credential', async () => {
    expect(errorOf(await world.get('/explore'))).toEqual([401, 'unauthorized']);
    expect(errorOf(await world.get(`/offerings/${roundOf(world, 'quiet-orchard').id}`))).toEqual([
      401,
      'unauthorized',
    ]);
  });

  test('CAT-34 CAT-35 the public view omits private, unapproved, hidden, restricted and untried companies', async () => {
    const shown = await listed();
    for (const name of [
      'Private Pastures',
      'Unproven Umbrellas',
      'Hidden Hollow',
      'Lumen Works',
      'Vaulted Arch',
      'First Sparks',
    ]) {
      expect(shown).not.toContain(name);
    }
    expect(shown).toEqual(
      expect.arrayContaining(['Harbour Lanterns', 'Quiet Orchard', 'Tidal Ledger', 'Paper Kites']),
    );
  });

  test('CAT-35 the catalog lists a company once it reaches the traction threshold', async () => {
    expect(await listed()).not.toContain('First Sparks');
    const bought = invest(world, { email: ivan, slug: 'first-sparks', cents: 80_000 });
    expect(await listed()).toContain('First Sparks');
    await world.control('DELETE', `/investments/${bought}`);
    expect(await listed()).not.toContain('First Sparks');
  });

  test('CAT-36 CAT-12 SCOPE-07 the logged-in view contains the public view and more, with marks', async () => {
    const anyones = conforms(explore, await read('/explore')).body;
    const own = conforms(explore, await read('/explore', explorer)).body;
    expect([anyones.meta.personalized, own.meta.personalized]).toEqual([false, true]);
    const ids = own.data.map((item: Item) => item.id);
    expect(ids).toEqual(expect.arrayContaining(anyones.data.map((item: Item) => item.id)));
    expect(ids.length).toBeGreaterThan(anyones.data.length);
    expect(names(own.data)).toEqual(
      expect.arrayContaining(['Lumen Works', 'Vaulted Arch', 'Private Pastures', 'First Sparks']),
    );
    expect(names(own.data)).not.toContain('Hidden Hollow');
    expect(names(own.data)).not.toContain('Unproven Umbrellas');
    for (const { id, attributes } of own.data) {
      const open = anyones.data.find((item: Item) => item.id === id);
      expect(attributes.publicly_visible).toBe(open !== undefined);
      expect(typeof attributes.invested).toBe('boolean');
      const { publicly_visible: _, invested: __, followed: ___, ...shared } = attributes;
      if (open !== undefined) expect(open.attributes).toMatchObject(shared);
    }
    for (const { attributes } of anyones.data) {
      expect(attributes).not.toHaveProperty('publicly_visible');
      expect(attributes).not.toHaveProperty('invested');
    }
  });

  test('CAT-36 SCOPE-07 restricted companies are visible to viewers who qualify', async () => {
    const plain = await listed('', personToken(world, ivan, 'read:explore'));
    for (const name of ['Lumen Works', 'Vaulted Arch', 'Private Pastures']) expect(plain).not.toContain(name);
    expect(plain).toContain('First Sparks');
  });

  test('CAT-37 read:explore on an installation gives the public view', async () => {
    const { body } = await read('/explore', world.ready.companies[0]?.token);
    expect(body.meta.personalized).toBe(false);
    expect(names(body.data)).toEqual(await listed());
  });

  test('CAT-12 invested is true for a round in which the viewer has an active investment', async () => {
    const { id } = roundOf(world, 'harbour-lanterns', 1);
    const invested = async () => (await read(`/offerings/${id}`, explorer)).body.data.attributes.invested;
    expect(await invested()).toBe(false);
    const bought = invest(world, { email: ida, slug: 'harbour-lanterns', index: 1 });
    expect(await invested()).toBe(true);
    await world.control('PATCH', `/investments/${bought}`, { status: 'canceled' });
    expect(await invested()).toBe(false);
  });

  test('CAT-38 SEC-02 SEC-01 an offering that is not public returns the same error as one that never existed', async () => {
    const unknown = await read('/offerings/ofr_never');
    for (const slug of [
      'private-pastures',
      'unproven-umbrellas',
      'hidden-hollow',
      'lumen-works',
      'vaulted-arch',
      'first-sparks',
    ]) {
      const answer = await read(`/offerings/${roundOf(world, slug).id}`);
      expect(errorOf(answer), slug).toEqual([404, 'not_found']);
      expect({ ...answer.body.error, request_id: '' }).toEqual({ ...unknown.body.error, request_id: '' });
    }
  });

  test('CAT-39 a person reads by id any offering they may see, with their own relation to it', async () => {
    for (const [slug, open] of [
      ['private-pastures', false],
      ['lumen-works', false],
      ['vaulted-arch', false],
      ['harbour-lanterns', true],
    ] as const) {
      const answer = conforms(
        getOffering,
        await read(`/offerings/${roundsOf(world, slug).at(-1)?.id}`, explorer),
      );
      expect(answer.body.data.attributes).toMatchObject({ publicly_visible: open, invested: false });
    }
    const plain = personToken(world, ivan, 'read:explore');
    expect((await read(`/offerings/${roundOf(world, 'private-pastures').id}`, plain)).status).toBe(404);
  });

  test('CAT-08 CAT-39 an upcoming round is visible to its team, a canceled one also to its investors', async () => {
    const { no, id } = roundOf(world, 'first-sparks');
    const { state } = world.services;
    const asTeam = personToken(world, 'maker10@people.example', 'read:explore');
    const asBacker = personToken(world, 'backer1@people.example', 'read:explore');
    const seen = async () =>
      Promise.all(
        [asTeam, asBacker, explorer].map(async (token) => (await read(`/offerings/${id}`, token)).status),
      );
    expect(await seen()).toEqual([200, 200, 200]);
    run(state, `UPDATE offerings SET status = 'upcoming' WHERE no = ?`, [no]);
    expect(await seen()).toEqual([200, 404, 404]);
    run(state, `UPDATE offerings SET status = 'canceled' WHERE no = ?`, [no]);
    expect(await seen()).toEqual([200, 200, 404]);
    run(state, `UPDATE offerings SET status = 'open' WHERE no = ?`, [no]);
  });
});

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

describe('realms of the catalog', () => {
  test('OAUTH-27 OAUTH-25 a key sees only the companies of its own realm', async () => {
    const { state } = world.services;
    const live = run(
      state,
      `INSERT INTO companies (id, realm, name, slug, created_at) VALUES ('co_live', 'live', 'Live One', 'live-one', 0)`,
    ).no;
    run(state, 'INSERT INTO company_profiles (company_no, approved_at) VALUES (?, 1)', [live]);
    run(state, `INSERT INTO offerings (id, company_no, created_at) VALUES ('ofr_live', ?, 0)`, [live]);
    invest(world, { email: ivan, slug: 'live-one' });
    const liveKey = world.ready.apps[0]?.live.clientId ?? '';
    const names = world.ready.live.companies.map(({ name }) => name);
    expect((await listed('', liveKey)).sort()).toEqual([...names, 'Live One'].sort());
    expect(await listed()).not.toContain('Live One');
    for (const path of ['/offerings/ofr_live', '/companies/co_live', '/companies/co_live/pitch']) {
      expect((await read(path, liveKey)).status).toBe(200);
      expect(errorOf(await read(path))).toEqual([404, 'not_found']);
    }
    expect((await read('/companies/search?q=live')).body.data).toEqual([]);
  });
});

describe('conditional reads of an offering', () => {
  const path = () => `/offerings/${roundOf(world, 'harbour-lanterns', 1).id}`;
  const readIf = (known: string) => world.get(path(), { token: key, headers: { 'if-none-match': known } });

  test('CAT-02 the etag of an offering is its weak ETag, and one that is known is answered with 304', async () => {
    const whole = await read(path());
    const { etag } = whole.body.data;
    expect(whole.headers.get('etag')).toBe(`W/"${etag}"`);
    for (const known of [`W/"${etag}"`, `"${etag}"`, `"other", W/"${etag}"`, '*']) {
      const same = await readIf(known);
      expect([known, same.status, same.body]).toEqual([known, 304, '']);
      expect(same.headers.get('etag')).toBe(`W/"${etag}"`);
      expect(same.headers.get('content-type')).toBeNull();
    }
    for (const known of ['"other"', etag, '']) expect((await readIf(known)).status).toBe(200);
  });

  test('CAT-02 an offering whose attributes changed is sent whole to who knows the old ones', async () => {
    const { etag } = (await read(path())).body.data;
    const { no } = roundOf(world, 'harbour-lanterns', 1);
    const { state } = world.services;
    run(
      state,
      'UPDATE offering_terms SET min_investment_cents = min_investment_cents + 100 WHERE offering_no = ?',
      [no],
    );
    const changed = await readIf(`W/"${etag}"`);
    expect([changed.status, changed.body.data.etag === etag]).toEqual([200, false]);
    run(
      state,
      'UPDATE offering_terms SET min_investment_cents = min_investment_cents - 100 WHERE offering_no = ?',
      [no],
    );
    expect((await readIf(`W/"${etag}"`)).status).toBe(304);
  });

  test('CAT-02 a company has no etag, so reading it is not conditional', async () => {
    const { id } = companyOf(world, 'harbour-lanterns');
    const answer = await world.get(`/companies/${id}`, { token: key, headers: { 'if-none-match': '*' } });
    expect([answer.status, answer.headers.get('etag')]).toEqual([200, null]);
    expect(answer.body.data).not.toHaveProperty('etag');
  });
});
