import { describe, expect, test } from 'vitest';
import { run } from '../../src/platform/state/statements.js';
import { ids, memberRequests } from './member-requests.js';
import { foundSyndicate, openDeal } from './syndicate-life.js';

const { world, list, setMember } = await memberRequests();

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
