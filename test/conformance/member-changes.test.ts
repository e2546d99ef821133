import { describe, expect, test } from 'vitest';
import { memberByNo } from '../../src/platform/members/model.js';
import { removalRefusal, removeMember } from '../../src/platform/members/remove.js';
import { ids, memberRequests, refusal } from './member-requests.js';
import { foundSyndicate, makePerson, type TestSyndicate } from './syndicate-life.js';

const { world, act, list } = await memberRequests();

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
