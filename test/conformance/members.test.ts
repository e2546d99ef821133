import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memberByNo } from '../../src/platform/members/model.js';
import { removalRefusal, removeMember } from '../../src/platform/members/remove.js';
import { run } from '../../src/platform/state/statements.js';
import { type Answered, type RunningPlatform, startPlatform } from './running-platform.js';
import {
  foundSyndicate,
  makePerson,
  openDeal,
  standingOf,
  type TestMember,
  type TestSyndicate,
} from './syndicate-life.js';
import { createEndpointFor, type SubscribedEndpoint } from './webhook-receivers.js';

let world: RunningPlatform;
let own: TestSyndicate;

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  own = foundSyndicate(world);
});
afterAll(() => world.close());

const ids = (answer: Answered): string[] => answer.body.data.map((row: { id: string }) => row.id);
const act = (
  syndicate: TestSyndicate,
  member: { id: string },
  action: string,
  token = syndicate.creatorToken,
) => world.post(`${syndicate.path}/members/${member.id}/${action}`, { token });
const list = (syndicate: TestSyndicate, query = '', token = syndicate.creatorToken) =>
  world.get(`${syndicate.path}/members${query}`, { token });
const setMember = (member: TestMember, columns: Readonly<Record<string, string | number | null>>) => {
  for (const [column, value] of Object.entries(columns)) {
    world.services.state
      .prepare(`UPDATE syndicate_members SET ${column} = ? WHERE no = ?`)
      .run(value, member.no);
  }
};
const refusal = (answer: Answered) => [answer.status, answer.body.error.type];

describe('a member record', () => {
  async function wholeMember() {
    const syndicate = foundSyndicate(world);
    const mia = syndicate.add('Mia', 'operator', {
      accredited: true,
      address: { city: 'Portland', state: 'ME', country: 'United States' },
    });
    const lastLogin = world.services.clock.now() - 5000;
    run(
      world.services.state,
      `INSERT INTO member_profiles (user_no, linkedin_url, twitter_url, website, avatar_url, interests, stage_preferences,
         looking_for, last_login_at) VALUES (?, 'https://l.example', 'https://t.example', 'https://w.example',
         'https://a.example', '["Climate"]', '["Seed"]', '["Deal flow"]', ?)`,
      [mia.person.no, lastLogin],
    );
    setMember(mia, {
      title: 'Scout',
      tags: '["Angel"]',
      private_tags: '["call back"]',
      starred: 1,
      carry_percentage_override: 15,
      carry_discount_percentage: 2.5,
      management_fee_discount_percentage: 10,
    });
    await openDeal(world, syndicate).invest(mia.person, 123_456, { group: 'IS READY' });
    const answer = await list(syndicate, '?role=manager');
    const at = new Date(world.services.clock.now()).toISOString();
    const shown = {
      user_id: mia.person.no,
      user: mia.person.id,
      user_name: 'Mia',
      user_email: mia.person.email,
      role: 'manager',
      invite_role: null,
      syndicate_permission: 'operator',
      title: 'Scout',
      sort_order: 2,
      carry_percentage_override: 15,
      carry_discount_percentage: 2.5,
      management_fee_discount_percentage: 10,
      public_on_syndicate_profile: true,
      interests: ['Climate'],
      stage_preferences: ['Seed'],
      looking_for: ['Deal flow'],
      linkedin_url: 'https://l.example',
      twitter_url: 'https://t.example',
      website: 'https://w.example',
      city: 'Portland',
      state: 'ME',
      country: 'United States',
      avatar_url: 'https://a.example',
      bio: null,
      last_activity_at: new Date(lastLogin).toISOString(),
      profile_url: expect.stringMatching(/^\/person\d+$/),
      tags: ['Angel'],
      joined_at: at,
      investment_total: '1234',
      deal_count: 1,
      accredited: true,
      legal_name: 'Mia Legal',
      starred: true,
      private_tags: ['call back'],
      created_at: at,
      updated_at: at,
    };
    return { syndicate, mia, shown, answer };
  }

  test('MEM-01 MEM-02 MEM-03 syndicate managers read the whole record of a member', async () => {
    const { mia, shown, answer } = await wholeMember();
    expect(answer.body).toEqual({
      data: [{ id: mia.id, type: 'syndicate_member', attributes: shown }],
      meta: { has_more: false, page_count: 1, next_cursor: null },
    });
  });

  test('MEM-05 managers read what they and the platform noted about a member', async () => {
    const { answer } = await wholeMember();
    expect(answer.body.data[0].attributes).toMatchObject({
      accredited: true,
      legal_name: 'Mia Legal',
      starred: true,
      tags: ['Angel'],
      private_tags: ['call back'],
    });
  });

  test('MEM-04 MEM-05 MEM-06 members read the profile and role of a member, not what managers note', async () => {
    const { syndicate, shown } = await wholeMember();
    const { accredited: _, legal_name: __, starred: ___, private_tags: ____, ...open } = shown;
    const asMember = await list(syndicate, '?role=manager', syndicate.token(syndicate.add('Other')));
    expect(asMember.body.data[0].attributes).toEqual({ ...open, user_email: null, investment_total: null });
  });

  test('MEM-04 the location of a member who hides it is neither shown nor searchable', async () => {
    const syndicate = foundSyndicate(world);
    const address = { city: 'Reykjavík', state: null, country: 'Iceland' };
    const open = syndicate.add('Open', 'member', { address });
    const hidden = syndicate.add('Hidden', 'member', { address, hideLocation: true });
    const all = await list(syndicate, '?role=member');
    expect(ids(all)).toEqual([open.id, hidden.id]);
    expect(all.body.data[0].attributes).toMatchObject({ city: 'Reykjavík', state: null, country: 'Iceland' });
    for (const part of ['city', 'state', 'country'])
      expect(all.body.data[1].attributes).not.toHaveProperty(part);
    expect(ids(await list(syndicate, '?location=REYKJAVÍK'))).toEqual([open.id]);
    const csv = await world.post(`${syndicate.path}/members/export_csv`, { token: syndicate.creatorToken });
    expect(csv.body.match(/Iceland/g)).toHaveLength(1);
  });

  test('MEM-07 each role of a member follows from the member’s state', async () => {
    const syndicate = foundSyndicate(world);
    for (const standing of ['member', 'invitee', 'applicant', 'exiled', 'resigned'] as const) {
      syndicate.add(standing, standing);
    }
    for (const gone of ['removed', 'declined', 'withdrawn'] as const) syndicate.add(gone, gone);
    syndicate.add('Op', 'operator');
    const { body } = await list(syndicate);
    expect(body.data.map((row: { attributes: { role: string } }) => row.attributes.role)).toEqual([
      'creator',
      'member',
      'invitee',
      'applicant',
      'exiled',
      'resigned',
      'manager',
    ]);
  });

  test('closing an account leaves a member without a person', async () => {
    const syndicate = foundSyndicate(world);
    const mia = syndicate.add('Mia', 'member', {
      address: { city: 'Köln', state: null, country: 'Germany' },
      hideLocation: false,
    });
    await world.control('POST', `/users/${mia.person.id}/deactivate`);
    const { body } = await list(syndicate, '?role=member');
    expect(JSON.stringify(body)).not.toMatch(/Mia|Köln|people\.example/);
    expect(body.data[0].attributes).toMatchObject({
      user: null,
      user_id: null,
      user_email: null,
      profile_url: null,
    });
  });
});

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

describe('inviting members', () => {
  const invite = (syndicate: TestSyndicate, body: unknown, token = syndicate.creatorToken) =>
    world.post(`${syndicate.path}/members/invite`, { token, body });

  test('MEM-15 EVT-07 inviting an address creates an invitee and notifies the installations', async () => {
    const syndicate = foundSyndicate(world);
    const answer = await invite(syndicate, { email: 'new@people.example', name: 'Nell' });
    expect(answer.status).toBe(201);
    expect(answer.body.data.attributes).toMatchObject({
      role: 'invitee',
      invite_role: 'admin',
      syndicate_permission: 'operator',
      user: null,
      user_id: null,
      user_name: 'Nell',
      user_email: 'new@people.example',
      investment_total: '0',
      interests: [],
    });
    expect(syndicate.told()).toEqual([
      {
        name: 'syndicate_member.invited',
        data: {
          syndicate: syndicate.id,
          email: 'new@people.example',
          name: 'Nell',
          user: null,
          invited_by: { id: syndicate.creator.person.id, name: syndicate.creator.person.name },
          occurred_at: new Date(world.services.clock.now()).toISOString(),
        },
      },
    ]);
  });

  test('MEM-15 EVT-07 SEC-13 inviting an address with an account reports the id of the account and nothing else of it', async () => {
    const syndicate = foundSyndicate(world);
    const person = makePerson(world, 'Petra Private', {
      email: 'petra.private@people.example',
      accredited: true,
    });
    const asked = 'PETRA.private@people.example';
    const answer = await invite(
      syndicate,
      { email: asked, syndicate_permission: null },
      syndicate.installationToken,
    );
    expect(answer.body.data.attributes).toMatchObject({
      user: null,
      user_name: null,
      user_email: asked,
      legal_name: null,
      accredited: null,
      invite_role: 'member',
      syndicate_permission: null,
    });
    const [event] = syndicate.told();
    expect(event?.data).toMatchObject({ email: asked, name: null, user: person.id, invited_by: null });
    expect(JSON.stringify([answer.body, event])).not.toMatch(/Petra|petra\.private/);
  });

  test('MEM-15 ERR-05 inviting a current member or an invalid address returns 422', async () => {
    const syndicate = foundSyndicate(world);
    for (const standing of ['member', 'applicant', 'exiled'] as const) {
      const held = syndicate.add(standing, standing);
      const answer = await invite(syndicate, { email: held.person.email.toUpperCase() });
      expect(refusal(answer)).toEqual([422, 'unprocessable_entity']);
      expect(answer.body.error.details).toEqual({ member: held.id });
    }
    await invite(syndicate, { email: 'twice@people.example' });
    expect(refusal(await invite(syndicate, { email: 'Twice@people.example' }))).toEqual([
      422,
      'unprocessable_entity',
    ]);
    for (const body of [{}, { email: 'nobody' }, { email: 'a@b.example', syndicate_permission: 'god' }]) {
      const answer = await invite(syndicate, body);
      expect(refusal(answer)).toEqual([422, 'validation_error']);
      expect(answer.body.error.details.errors).toHaveLength(1);
    }
    expect(ids(await list(syndicate, '?role=invitee'))).toHaveLength(1);
  });

  test('MEM-15 a person who left, declined or was removed can be invited again and keeps the same member id', async () => {
    const syndicate = foundSyndicate(world);
    for (const standing of ['resigned', 'removed', 'declined', 'withdrawn'] as const) {
      const held = syndicate.add(standing, standing);
      const answer = await invite(syndicate, { email: held.person.email });
      expect(answer.status).toBe(201);
      expect(answer.body.data).toMatchObject({ id: held.id, attributes: { role: 'invitee', user: null } });
    }
  });

  test('MEM-16 only the creator may invite with full access', async () => {
    const syndicate = foundSyndicate(world);
    const wish = { email: 'boss@people.example', syndicate_permission: 'full_access' };
    const manager = syndicate.token(syndicate.add('Max', 'full_access'));
    for (const token of [manager, syndicate.installationToken]) {
      expect(refusal(await invite(syndicate, wish, token))).toEqual([403, 'forbidden']);
    }
    const answer = await invite(syndicate, wish);
    expect(answer.body.data.attributes).toMatchObject({
      invite_role: 'admin',
      syndicate_permission: 'full_access',
    });
  });

  test('MEM-27 EVT-07 an operator resends an open invitation; without one the resend is refused', async () => {
    const syndicate = foundSyndicate(world);
    const invited = (await invite(syndicate, { email: 'slow@people.example' })).body.data;
    syndicate.told();
    const answer = await act(syndicate, invited, 'resend_invite');
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual(invited);
    expect(syndicate.told()).toMatchObject([
      { name: 'syndicate_member.reinvited', data: { email: 'slow@people.example', syndicate: syndicate.id } },
    ]);
    expect(refusal(await act(syndicate, syndicate.add('Mia'), 'resend_invite'))).toEqual([
      422,
      'unprocessable_entity',
    ]);
    expect(syndicate.told()).toEqual([]);
  });
});

describe('changing a member', () => {
  test('MEM-17 MEM-18 an operator changes title and carry override; omitted fields keep their values', async () => {
    const syndicate = foundSyndicate(world);
    const mia = syndicate.add('Mia');
    const operator = syndicate.token(syndicate.add('Op', 'operator'));
    const patch = (member: unknown, token = operator) =>
      world.patch(`${syndicate.path}/members/${mia.id}`, { token, body: { member } });
    const answer = await patch({ title: ' Scout ', carry_percentage_override: 20 });
    expect(answer.status).toBe(200);
    expect(answer.body.data.attributes).toMatchObject({ title: 'Scout', carry_percentage_override: 20 });
    expect((await patch({ title: null })).body.data.attributes).toMatchObject({
      title: null,
      carry_percentage_override: 20,
    });
    expect(
      (await patch({ carry_percentage_override: null })).body.data.attributes.carry_percentage_override,
    ).toBeNull();
    for (const carry of [0, 101, 1.5, '20']) {
      expect(refusal(await patch({ carry_percentage_override: carry }))).toEqual([422, 'validation_error']);
    }
    expect(refusal(await patch({ title: 'Boss' }, syndicate.token(mia)))).toEqual([403, 'forbidden']);
  });

  test('MEM-19 ERR-17 deleting a member always returns use_intents, which points to POST /intents, and changes nothing', async () => {
    const syndicate = foundSyndicate(world);
    const mia = syndicate.add('Mia');
    const before = await list(syndicate);
    for (const token of [syndicate.creatorToken, syndicate.installationToken]) {
      const answer = await world.delete(`${syndicate.path}/members/${mia.id}`, { token });
      expect(refusal(answer)).toEqual([422, 'use_intents']);
      expect(answer.body.error.message).toContain('POST /intents');
      expect(answer.body.error.details).toEqual({
        action: 'syndicates.remove_member',
        resource_id: syndicate.id,
        params: { member_id: mia.id },
      });
    }
    expect((await list(syndicate)).body).toEqual(before.body);
    expect(syndicate.told()).toEqual([]);
  });

  test('MEM-19 deleting an unknown member returns use_intents too', async () => {
    const syndicate = foundSyndicate(world);
    const elsewhere = foundSyndicate(world).add('Eve');
    for (const id of ['mem_unknown', elsewhere.id, 'nonsense']) {
      const answer = await world.delete(`${syndicate.path}/members/${id}`, { token: syndicate.creatorToken });
      expect([id, ...refusal(answer)]).toEqual([id, 422, 'use_intents']);
    }
  });

  test('MEM-19 EVT-08 an approved removal removes the member from every listing and sends the left event', async () => {
    const syndicate = foundSyndicate(world);
    const max = syndicate.add('Max', 'full_access');
    const token = syndicate.token(max);
    const { services } = world;
    expect(removalRefusal(memberByNo(services.state, syndicate.creator.no))).toMatch(/creator/);
    expect(removalRefusal(memberByNo(services.state, max.no))).toBeNull();
    removeMember(services, syndicate.no, max.no, syndicate.creator.person.no, services.clock.now());
    expect(ids(await list(syndicate))).toEqual([syndicate.creator.id]);
    expect((await act(syndicate, max, 'promote')).status).toBe(404);
    expect((await world.get(syndicate.path, { token })).status).toBe(403);
    expect(syndicate.told()).toMatchObject([
      { name: 'syndicate_member.left', data: { id: max.id, status: 'removed', user: { id: max.person.id } } },
    ]);
    expect(removalRefusal(memberByNo(services.state, max.no))).toMatch(/removed/);
  });
});

describe('moderating members', () => {
  async function approved() {
    const syndicate = foundSyndicate(world);
    const apu = syndicate.add('Apu', 'applicant');
    const operator = syndicate.add('Op', 'operator');
    const answer = await act(syndicate, apu, 'approve', syndicate.token(operator));
    return { syndicate, apu, operator, answer };
  }

  test('MEM-20 MEM-21 MEM-22 approving an applicant makes a member', async () => {
    const { apu, answer } = await approved();
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({
      id: apu.id,
      attributes: { role: 'member', syndicate_permission: null },
    });
  });

  test('EVT-07 approving an applicant sends the approved and joined events', async () => {
    const { syndicate, apu, operator } = await approved();
    const data = {
      id: apu.id,
      syndicate: syndicate.id,
      user: { id: apu.person.id, name: 'Apu', email: apu.person.email },
      approved_by: { id: operator.person.id, name: 'Op' },
      occurred_at: new Date(world.services.clock.now()).toISOString(),
    };
    expect(syndicate.told()).toEqual([
      { name: 'syndicate_member.approved', data: { ...data, status: 'approved' } },
      { name: 'syndicate_member.joined', data: { ...data, status: 'member' } },
    ]);
  });

  test('MEM-21 MEM-22 only an applicant can be approved, never an invitee', async () => {
    const syndicate = foundSyndicate(world);
    for (const standing of ['member', 'exiled', 'resigned', 'operator'] as const) {
      const answer = await act(syndicate, syndicate.add(standing, standing), 'approve');
      expect(refusal(answer)).toEqual([422, 'unprocessable_entity']);
    }
    const invitee = await act(syndicate, syndicate.add('Inga', 'invitee'), 'approve');
    expect(refusal(invitee)).toEqual([422, 'unprocessable_entity']);
    expect(invitee.body.error.message).toMatch(/accepts the link/);
    expect(syndicate.told()).toEqual([]);
  });

  test('MEM-23 EVT-08 hiding a member exiles them, removes their permission and sends an event with the role that ended', async () => {
    const syndicate = foundSyndicate(world);
    const cases = [
      ['member', [{ name: 'syndicate_member.left', data: { status: 'removed' } }]],
      ['operator', [{ name: 'syndicate_member.left', data: { status: 'removed' } }]],
      ['applicant', [{ name: 'syndicate_member.declined', data: { status: 'declined' } }]],
      ['invitee', [{ name: 'syndicate_member.declined', data: { status: 'withdrawn' } }]],
      ['resigned', []],
    ] as const;
    for (const [standing, told] of cases) {
      const answer = await act(syndicate, syndicate.add(standing, standing), 'hide');
      expect(answer.body.data.attributes).toMatchObject({ role: 'exiled', syndicate_permission: null });
      expect(syndicate.told()).toMatchObject(told);
    }
    const twice = syndicate.add('Twice', 'exiled');
    expect(refusal(await act(syndicate, twice, 'hide'))).toEqual([422, 'unprocessable_entity']);
  });

  test('MEM-23 an exiled person no longer reaches the syndicate', async () => {
    const syndicate = foundSyndicate(world);
    const max = syndicate.add('Max', 'operator');
    const token = syndicate.token(max);
    expect((await list(syndicate, '', token)).status).toBe(200);
    await act(syndicate, max, 'hide');
    expect((await list(syndicate, '', token)).status).toBe(403);
    expect((await world.get('/syndicates', { token })).body.data).toEqual([]);
  });

  test('MEM-23 a moderator cannot exile someone of equal or higher permission, themselves or the creator', async () => {
    const syndicate = foundSyndicate(world);
    const first = syndicate.add('First', 'operator');
    const second = syndicate.add('Second', 'operator');
    const full = syndicate.add('Full', 'full_access');
    for (const target of [first, second, full]) {
      expect(refusal(await act(syndicate, target, 'hide', syndicate.token(first)))).toEqual([
        403,
        'forbidden',
      ]);
    }
    expect(refusal(await act(syndicate, full, 'hide', syndicate.installationToken))).toEqual([
      403,
      'forbidden',
    ]);
    expect(refusal(await act(syndicate, syndicate.creator, 'hide'))).toEqual([422, 'unprocessable_entity']);
    expect((await act(syndicate, first, 'hide', syndicate.token(full))).status).toBe(200);
    expect((await act(syndicate, full, 'hide')).status).toBe(200);
  });

  test('MEM-24 EVT-07 exiled and resigned people are restored as members without their old permission', async () => {
    const syndicate = foundSyndicate(world);
    for (const standing of ['exiled', 'resigned'] as const) {
      const answer = await act(syndicate, syndicate.add(standing, standing), 'restore');
      expect(answer.body.data.attributes).toMatchObject({ role: 'member', syndicate_permission: null });
      expect(syndicate.told()).toMatchObject([
        {
          name: 'syndicate_member.joined',
          data: { status: 'member', approved_by: { id: expect.any(String) } },
        },
      ]);
    }
    for (const standing of ['member', 'invitee', 'applicant'] as const) {
      const answer = await act(syndicate, syndicate.add(standing, standing), 'restore');
      expect(refusal(answer)).toEqual([422, 'unprocessable_entity']);
    }
    const invitee = syndicate.add('Never came', 'invitee');
    await act(syndicate, invitee, 'hide');
    expect(refusal(await act(syndicate, invitee, 'restore'))).toEqual([422, 'unprocessable_entity']);
  });

  test('MEM-25 only the creator in person can promote, and only members', async () => {
    const syndicate = foundSyndicate(world);
    const mia = syndicate.add('Mia');
    const manager = syndicate.token(syndicate.add('Max', 'full_access'));
    for (const token of [manager, syndicate.installationToken, syndicate.token(mia)]) {
      expect(refusal(await act(syndicate, mia, 'promote', token))).toEqual([403, 'forbidden']);
    }
    const answer = await act(syndicate, mia, 'promote');
    expect(answer.body.data.attributes).toMatchObject({
      role: 'manager',
      syndicate_permission: 'full_access',
    });
    expect(refusal(await act(syndicate, mia, 'promote'))).toEqual([422, 'unprocessable_entity']);
    for (const standing of ['applicant', 'invitee', 'exiled'] as const) {
      const refused = await act(syndicate, syndicate.add(standing, standing), 'promote');
      expect(refusal(refused)).toEqual([422, 'unprocessable_entity']);
    }
  });

  test('MEM-22 MEM-26 demoting takes full access down to operator and refuses any other permission', async () => {
    const syndicate = foundSyndicate(world);
    const max = syndicate.add('Max', 'full_access');
    const operator = syndicate.add('Op', 'operator');
    expect(refusal(await act(syndicate, max, 'demote', syndicate.token(operator)))).toEqual([
      403,
      'forbidden',
    ]);
    const answer = await act(syndicate, max, 'demote');
    expect(answer.body.data.attributes).toMatchObject({ role: 'manager', syndicate_permission: 'operator' });
    for (const target of [max, operator, syndicate.add('Mia'), syndicate.creator]) {
      expect(refusal(await act(syndicate, target, 'demote'))).toEqual([422, 'unprocessable_entity']);
    }
  });

  test('MEM-20 every action on a member of another syndicate returns not found', async () => {
    const stranger = foundSyndicate(world).add('Stranger', 'applicant');
    for (const action of ['approve', 'hide', 'promote', 'demote', 'restore', 'resend_invite']) {
      expect(refusal(await act(own, stranger, action))).toEqual([404, 'not_found']);
    }
    expect(standingOf(world, stranger)).toBe('applicant');
  });
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

describe('exporting members', () => {
  test('MEM-29 MEM-30 the export returns the CSV directly, with quoting where needed and no formulas', async () => {
    const syndicate = foundSyndicate(world);
    const evil = syndicate.add('=HYPERLINK("http://x")', 'operator', {
      accredited: true,
      address: { city: '\t@Bath', state: 'ME', country: '-2+3' },
    });
    setMember(evil, { title: ' +1, "boss"', tags: '["one","two"]', carry_percentage_override: 5 });
    const answer = await world.post(`${syndicate.path}/members/export_csv`, {
      token: syndicate.token(evil),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="members_life-\d+\.csv"$/,
    );
    const [header, ...rows] = (answer.body as string).split(/\n(?=mem_|$)/);
    expect(header).toBe(
      'Member ID,Name,Legal Name,Email,Role,Permission,Title,Accredited,City,State,Country,Tags,Private Tags,Starred,Investment Total,Deals,Carry Override,Joined At (UTC)',
    );
    const at = new Date(world.services.clock.now()).toISOString().slice(0, 19).replace('T', ' ');
    expect(rows[1]).toBe(
      `${evil.id},"'=HYPERLINK(""http://x"")","'=HYPERLINK(""http://x"") Legal",${evil.person.email},manager,operator,` +
        `"' +1, ""boss""",Yes,'\t@Bath,ME,'-2+3,"one\ntwo",,,0,0,5,${at}`,
    );
    expect(rows).toHaveLength(3);
  });

  test('MEM-30 the export begins with a byte order mark, so that spreadsheets read its letters', async () => {
    const syndicate = foundSyndicate(world);
    const answer = await fetch(`${world.url}${syndicate.path}/members/export_csv`, {
      method: 'POST',
      headers: { authorization: `Bearer ${syndicate.creatorToken}` },
    });
    expect(Buffer.from(await answer.arrayBuffer()).toString('latin1')).toMatch(/^\xef\xbb\xbfMember ID/);
  });

  test('MEM-29 the export requires operator permission', async () => {
    const answer = await world.post(`${own.path}/members/export_csv`, { token: own.token(own.add('Mia')) });
    expect(refusal(answer)).toEqual([403, 'forbidden']);
  });
});

test('MEM-20 the member actions ignore a request body', async () => {
  const syndicate = foundSyndicate(world);
  const apu = syndicate.add('Apu', 'applicant');
  const answer = await world.post(`${syndicate.path}/members/${apu.id}/approve`, {
    token: syndicate.creatorToken,
    body: 'not json',
  });
  expect(answer.status).toBe(200);
});

test('EVT-07 EVT-08 member events reach exactly the installs on the syndicate with read:syndicates', async () => {
  const syndicate = foundSyndicate(world);
  const endpoints: Record<string, SubscribedEndpoint> = {
    reads: createEndpointFor(world, { syndicateNo: syndicate.no, scopes: ['read:syndicates'] }),
    writes: createEndpointFor(world, { syndicateNo: syndicate.no, scopes: ['write:syndicates'] }),
    other: createEndpointFor(world, {
      syndicateNo: syndicate.no,
      scopes: ['read:companies', 'write:syndicate_members'],
    }),
    elsewhere: createEndpointFor(world, {
      syndicateNo: foundSyndicate(world).no,
      scopes: ['read:syndicates'],
    }),
    company: createEndpointFor(world, { companyNo: 1, scopes: ['read:syndicates'] }),
    connected: createEndpointFor(world, { userNo: syndicate.creator.person.no, scopes: ['read:syndicates'] }),
  };
  const token = syndicate.creatorToken;
  const invited = await world.post(`${syndicate.path}/members/invite`, {
    token,
    body: { email: 'told@people.example' },
  });
  await act(syndicate, invited.body.data, 'resend_invite');
  await act(syndicate, syndicate.add('Apu', 'applicant'), 'approve');
  await act(syndicate, syndicate.add('Mia'), 'hide');
  await act(syndicate, syndicate.add('Ada', 'applicant'), 'hide');
  const expected = ['invited', 'reinvited', 'approved', 'joined', 'left', 'declined'].map(
    (name) => `syndicate_member.${name}`,
  );
  for (const [name, endpoint] of Object.entries(endpoints)) {
    expect([name, endpoint.delivered()]).toEqual([name, ['reads', 'writes'].includes(name) ? expected : []]);
  }
});
