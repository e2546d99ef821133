import { expect, test } from 'vitest';
import { startNewlySeeded } from '../../conformance/running-platform.js';

const seen = async (seed: number, records: number) => {
  const world = await startNewlySeeded({ seed, records, limits: false });
  try {
    const syndicates = [];
    for (const { id, token } of world.ready.syndicates) {
      const [members, deals] = await Promise.all([
        world.get(`/syndicates/${id}/members?per_page=100`, { token }),
        world.get(`/syndicates/${id}/deals`, { token }),
      ]);
      syndicates.push({ members: members.body.data, deals: deals.body.data });
    }
    return { syndicates, ready: world.ready };
  } finally {
    await world.close();
  }
};

test('sandbox: the same seed produces the same members, another seed different ones', async () => {
  const [first, again, other] = [await seen(1, 12), await seen(1, 12), await seen(2, 12)];
  expect(again.syndicates).toEqual(first.syndicates);
  expect(other.syndicates).not.toEqual(first.syndicates);
});

test('sandbox: a seeded syndicate has a member in every role, a live deal, and members who invested in it', async () => {
  const { syndicates } = await seen(1, 40);
  expect(syndicates).toHaveLength(2);
  for (const { members, deals } of syndicates) {
    const roles = new Set(members.map((row: { attributes: { role: string } }) => row.attributes.role));
    expect([...roles].sort()).toEqual([
      'applicant',
      'creator',
      'exiled',
      'invitee',
      'manager',
      'member',
      'resigned',
    ]);
    expect(deals).toHaveLength(1);
    expect(members.some((row: { attributes: { deal_count: number } }) => row.attributes.deal_count > 0)).toBe(
      true,
    );
  }
});

test('SYN-05 SYN-07 sandbox: the seeded syndicates of both realms are one of each type', async () => {
  const world = await startNewlySeeded({ records: 0, limits: false });
  const shown = [];
  for (const { id, token } of [...world.ready.syndicates, ...world.ready.live.syndicates]) {
    const { attributes } = (await world.get(`/syndicates/${id}`, { token })).body.data;
    shown.push([attributes.syndicate_type, attributes.annual_subscription, attributes.traditional_fund]);
  }
  expect(shown).toEqual([
    [null, undefined, undefined],
    [
      'annual_subscription',
      { fund_investment_amount: '10000', deals_per_year: 10, amount_per_deal: '1000' },
      undefined,
    ],
    ['traditional_fund', undefined, { require_minimum_investment: true, minimum_investment_amount: '10000' }],
  ]);
  await world.close();
});

test('sandbox: a world without investments still has syndicates', async () => {
  const { syndicates } = await seen(1, 0);
  expect(syndicates.map(({ members }) => members.length)).toEqual([2, 2]);
});
