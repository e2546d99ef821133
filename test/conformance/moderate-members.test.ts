import { describe, expect, test } from 'vitest';
import { memberRequests, refusal } from './member-requests.js';
import { foundSyndicate, standingOf } from './syndicate-life.js';

const { world, own, act, list } = await memberRequests();

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
