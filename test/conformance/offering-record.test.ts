import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { explore } from '../../src/platform/contract/offerings.js';
import { run } from '../../src/platform/state/statements.js';
import { companyOf, conforms, invest, ivan, personToken, roundOf } from './catalog.js';
import { day, type Item, offeringPages } from './offering-pages.js';
import { worldStart } from './running-platform.js';

const { world, key, read, attributesOf, privateRound } = await offeringPages();

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
