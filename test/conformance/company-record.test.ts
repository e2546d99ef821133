import { describe, expect, test } from 'vitest';
import { getCompany } from '../../src/platform/contract/companies.js';
import { run } from '../../src/platform/state/statements.js';
import { companyOf, conforms, errorOf, ida, invest, ivan, personToken, roundOf } from './catalog.js';
import { companyPages, type Item, lanterns } from './company-pages.js';

const { world, key, explorer, plain, read, attributes } = await companyPages();

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
