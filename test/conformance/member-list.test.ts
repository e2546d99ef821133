import { beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../src/platform/state/statements.js';
import { ids, memberRequests, refusal } from './member-requests.js';
import type { Answered } from './running-platform.js';
import { foundSyndicate, openDeal, type TestMember, type TestSyndicate } from './syndicate-life.js';

const { world, own, list, setMember } = await memberRequests();

describe('the list of members', () => {
  let syndicate: TestSyndicate;
  let members: Record<'anna' | 'bob' | 'émile' | 'invitee' | 'applicant' | 'operator', TestMember>;
  let member: string;

  beforeAll(async () => {
    syndicate = foundSyndicate(world);
    const anna = syndicate.add('Anna Alpha', 'member', {
      accredited: true,
      address: { city: 'Łódź', state: null, country: 'Poland' },
    });
    world.clock.advance(1000);
    const bob = syndicate.add('Bob Beta', 'member', {
      address: { city: 'Bath', state: 'ME', country: 'USA' },
    });
    world.clock.advance(1000);
    const émile = syndicate.add('Émile Zeta');
    members = {
      anna,
      bob,
      émile,
      invitee: syndicate.add('Inga', 'invitee'),
      applicant: syndicate.add('Apu', 'applicant'),
      operator: syndicate.add('Olga', 'operator'),
    };
    setMember(anna, { tags: '["Éxito","Angel"]', private_tags: '["secret"]' });
    setMember(bob, { tags: '["angel"]' });
    run(
      world.services.state,
      'INSERT INTO member_profiles (user_no, last_login_at) VALUES (?, 20), (?, 30)',
      [anna.person.no, bob.person.no],
    );
    const deal = openDeal(world, syndicate);
    await deal.invest(anna.person, 10_000);
    await deal.invest(bob.person, 90_000);
    member = syndicate.token(émile);
  });

  const names = async (query: string, token?: string) => ids(await list(syndicate, query, token));

  test('MEM-08 the role, permission and has_invested filters return only matching members', async () => {
    const { anna, bob, émile, invitee, applicant, operator } = members;
    expect(await names('?role=member')).toEqual([anna.id, bob.id, émile.id]);
    expect(await names('?role=invitee')).toEqual([invitee.id]);
    expect(await names('?role=applicant')).toEqual([applicant.id]);
    expect(await names('?permission=operator')).toEqual([operator.id]);
    expect(await names('?permission=full_access')).toEqual([syndicate.creator.id]);
    expect(await names('?has_invested=true')).toEqual([anna.id, bob.id]);
    expect(await names('?has_invested=false&role=member')).toEqual([émile.id]);
    for (const query of ['?role=king', '?permission=all', '?has_invested=maybe']) {
      const answer = await list(syndicate, query);
      expect(refusal(answer)).toEqual([400, 'invalid_parameter']);
      expect(answer.body.error.details).toEqual({ parameter: /\?(\w+)/.exec(query)?.[1] });
    }
  });

  test('MEM-09 search matches name or email, and email only for callers who may see it', async () => {
    const { anna, bob, émile } = members;
    expect(await names('?search=beta')).toEqual([bob.id]);
    expect(await names(`?search=${encodeURIComponent('éMILE')}`)).toEqual([émile.id]);
    expect(await names(`?search=${anna.person.email.toUpperCase()}`)).toEqual([anna.id]);
    expect(await names(`?search=${anna.person.email}`, member)).toEqual([]);
    expect(await names('?search=alpha', member)).toEqual([anna.id]);
    expect(await names('?search=%25')).toEqual([]);
  });

  test('MEM-10 the accredited filter works for moderators and is ignored for others, whatever its value', async () => {
    const { anna, bob } = members;
    expect(await names('?accredited=true')).toEqual([anna.id]);
    const shown: { attributes: { accredited: boolean | null } }[] = (
      await list(syndicate, '?accredited=false')
    ).body.data;
    expect(shown.map(({ attributes }) => attributes.accredited)).toEqual(shown.map(() => false));
    expect(await names('?accredited=false')).toContain(bob.id);
    // Nothing is known of an invitee.
    expect(await names('?accredited=false')).not.toContain(members.invitee.id);
    expect(refusal(await list(syndicate, '?accredited=perhaps'))).toEqual([400, 'invalid_parameter']);
    const everybody = await names('', member);
    for (const value of ['true', 'false', 'perhaps']) {
      expect(await names(`?accredited=${value}`, member)).toEqual(everybody);
    }
  });

  test('MEM-11 the tag filter ignores case, and the location filter matches city, state or country', async () => {
    const { anna, bob } = members;
    expect(await names('?tag=ANGEL')).toEqual([anna.id, bob.id]);
    expect(await names(`?tag=${encodeURIComponent('éXITO')}`)).toEqual([anna.id]);
    expect(await names('?tag=secret')).toEqual([]);
    expect(await names(`?location=${encodeURIComponent('łódź')}`)).toEqual([anna.id]);
    expect(await names('?location=poland')).toEqual([anna.id]);
    expect(await names('?location=me')).toEqual([bob.id]);
    expect(await names('?location=nowhere')).toEqual([]);
  });

  test('MEM-12 sorting by investment_amount puts the highest total first, for moderators only', async () => {
    const { anna, bob } = members;
    expect((await names('?sort=investment_amount')).slice(0, 2)).toEqual([bob.id, anna.id]);
    expect(await names('?sort=investment_amount', member)).toEqual(await names('', member));
    expect((await names('', member)).slice(0, 3)).toEqual([syndicate.creator.id, anna.id, bob.id]);
  });

  test('MEM-13 MEM-14 the list uses the order of the syndicate by default and for an unknown sort, and each known sort is distinct', async () => {
    const { anna, bob, émile, operator } = members;
    const standing = await names('?role=member');
    expect(standing).toEqual([anna.id, bob.id, émile.id]);
    expect(await names('?role=member&sort=sideways')).toEqual(standing);
    expect(await names('?role=member&sort=newest')).toEqual([émile.id, bob.id, anna.id]);
    expect(await names('?role=member&sort=oldest')).toEqual([anna.id, bob.id, émile.id]);
    expect(await names('?role=member&sort=last_activity')).toEqual([bob.id, anna.id, émile.id]);
    const alphabetical = await names('?sort=alphabetical');
    expect(alphabetical.indexOf(anna.id)).toBeLessThan(alphabetical.indexOf(bob.id));
    expect(alphabetical.indexOf(bob.id)).toBeLessThan(alphabetical.indexOf(operator.id));
    expect(alphabetical.at(-1)).toBe(émile.id);
  });

  test('MEM-01 every sort order pages to the end with each member exactly once', async () => {
    for (const sort of ['', 'newest', 'oldest', 'alphabetical', 'last_activity', 'investment_amount']) {
      const whole = await names(`?sort=${sort}`);
      const seen: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: Answered = await list(
          syndicate,
          `?sort=${sort}&per_page=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
        );
        seen.push(...ids(page));
        cursor = page.body.meta.next_cursor;
        expect(page.body.meta.has_more).toBe(cursor !== null);
      }
      expect(seen).toEqual(whole);
      expect(whole).toHaveLength(7);
    }
  });

  test('MEM-01 MEM-10 ordinary members see only current members', async () => {
    const { anna, bob, émile, operator } = members;
    expect(await names('', member)).toEqual([syndicate.creator.id, anna.id, bob.id, émile.id, operator.id]);
    expect(await names('?role=applicant', member)).toEqual([]);
    expect((await list(syndicate, '', syndicate.token(members.applicant))).status).toBe(403);
  });
});

test('MEM-03 moderators list a member’s investments in the deals of this syndicate only', async () => {
  const syndicate = foundSyndicate(world);
  const mia = syndicate.add('Mia');
  const deal = openDeal(world, syndicate);
  const elsewhere = openDeal(world, foundSyndicate(world));
  const first = await deal.invest(mia.person, 100_099);
  world.clock.advance(1000);
  const second = await deal.invest(mia.person, 50_000, { status: 'executed' });
  await deal.invest(mia.person, 70_000, { status: 'canceled' });
  await deal.invest(mia.person, 70_000, { status: 'reserved' });
  await elsewhere.invest(mia.person, 70_000);
  const answer = await world.get(`${syndicate.path}/members/${mia.id}/investments`, {
    token: syndicate.creatorToken,
  });
  expect(answer.body).toEqual({
    data: [
      {
        id: second,
        type: 'member_investment',
        attributes: expect.objectContaining({ amount: '500', amount_cents: 50_000, status: 'confirmed' }),
      },
      {
        id: first,
        type: 'member_investment',
        attributes: {
          fundraise_id: deal.no,
          offering: deal.id,
          company_name: expect.stringMatching(/^Deal Company/),
          amount: '1000',
          amount_cents: 100_099,
          status: 'pending',
          created_at: expect.any(String),
        },
      },
    ],
    meta: { count: 2, total_amount: '1500', total_amount_cents: 150_099 },
  });
  const shown = await list(syndicate, '?role=member');
  expect(shown.body.data[0].attributes).toMatchObject({ investment_total: '1500', deal_count: 1 });
  const refused = await world.get(`${syndicate.path}/members/${mia.id}/investments`, {
    token: syndicate.token(mia),
  });
  expect(refusal(refused)).toEqual([403, 'forbidden']);
  const unknown = await world.get(`${syndicate.path}/members/mem_x/investments`, {
    token: syndicate.creatorToken,
  });
  expect(unknown.status).toBe(404);
});

describe('the order of members', () => {
  test('MEM-28 reordering puts the listed members first in the given order and keeps the order of the rest', async () => {
    const syndicate = foundSyndicate(world);
    const [a, b, c, d] = ['A', 'B', 'C', 'D'].map((name) => syndicate.add(name));
    const member_ids = [c?.id, a?.id];
    const token = syndicate.token(syndicate.add('Op', 'operator'));
    const answer = await world.post(`${syndicate.path}/members/reorder`, { token, body: { member_ids } });
    expect(answer.status).toBe(200);
    expect(ids(answer)).toEqual(member_ids);
    expect(ids(await list(syndicate, '?role=member'))).toEqual([c?.id, a?.id, b?.id, d?.id]);
    expect(ids(await list(syndicate))[0]).toBe(c?.id);
  });

  test('MEM-28 reordering with an id outside the syndicate returns 404 and changes nothing', async () => {
    const syndicate = foundSyndicate(world);
    const [a, b] = ['A', 'B'].map((name) => syndicate.add(name));
    const before = (await list(syndicate)).body;
    const reorder = (member_ids: unknown) =>
      world.post(`${syndicate.path}/members/reorder`, {
        token: syndicate.creatorToken,
        body: { member_ids },
      });
    const foreign = own.add('Foreign');
    for (const id of ['mem_unknown', foreign.id]) {
      expect(refusal(await reorder([b?.id, id, a?.id]))).toEqual([404, 'not_found']);
    }
    for (const wrong of [undefined, [], 'x', [1], [a?.id, a?.id]]) {
      expect(refusal(await reorder(wrong))).toEqual([422, 'validation_error']);
    }
    expect((await list(syndicate)).body).toEqual(before);
  });
});
