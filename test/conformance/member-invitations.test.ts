import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { all, one, run } from '../../src/platform/state/statements.js';
import { manualClock } from '../support/manual-clock.js';
import { hour, joinRequests, pathOf } from './join-requests.js';
import { startPlatform, worldStart } from './running-platform.js';
import { foundSyndicate, makePerson, type TestSyndicate } from './syndicate-life.js';
import { createEndpointFor } from './webhook-receivers.js';

const { world, address, mint, sessions, visit, memberOf } = await joinRequests();

describe('member invitations', () => {
  const invited = async (syndicate: TestSyndicate, body: Readonly<Record<string, unknown>>) => {
    const answer = await world.post(`${syndicate.path}/members/invite`, {
      token: syndicate.creatorToken,
      body,
    });
    const { id } = answer.body.data;
    const link = await world.control('GET', `/syndicate_members/${id}/invitation`);
    syndicate.told();
    return { id, path: new URL(link.body.url).pathname };
  };

  test('MEM-21 EVT-07 an invitee accepts the link and gets the invited role, with no approver recorded', async () => {
    for (const [permission, role] of [
      ['operator', 'manager'],
      ['full_access', 'manager'],
      [null, 'member'],
    ] as const) {
      const syndicate = foundSyndicate(world);
      const person = makePerson(world, 'Paula');
      const { id, path } = await invited(syndicate, {
        email: person.email,
        syndicate_permission: permission,
      });
      expect((await visit(path, person.email, 'join')).status).toBe(200);
      expect(await memberOf(syndicate, id)).toMatchObject({
        role,
        syndicate_permission: permission,
        invite_role: null,
        user: person.id,
      });
      expect(syndicate.told()).toMatchObject([
        { name: 'syndicate_member.joined', data: { id, status: 'member', approved_by: null } },
      ]);
      expect((await world.get(path)).status).toBe(404);
    }
  });

  test('EVT-08 an invitee declines the link, and the invitation is deleted', async () => {
    const syndicate = foundSyndicate(world);
    const email = address();
    const { id, path } = await invited(syndicate, { email, name: 'Dora' });
    await visit(path, email, 'decline');
    expect(syndicate.told()).toMatchObject([
      {
        name: 'syndicate_member.declined',
        data: { id, status: 'declined', user: { id: null, name: 'Dora', email } },
      },
    ]);
    expect(await memberOf(syndicate, id)).toBeUndefined();
  });

  test('the link of a hidden invitee no longer works', async () => {
    const syndicate = foundSyndicate(world);
    const { id, path } = await invited(syndicate, { email: address() });
    await world.post(`${syndicate.path}/members/${id}/hide`, { token: syndicate.creatorToken });
    expect((await world.get(path)).status).toBe(404);
  });

  test('one person becomes one member, whichever of their links they use', async () => {
    const syndicate = foundSyndicate(world);
    const person = makePerson(world, 'Paula');
    const { path } = await invited(syndicate, { email: person.email, syndicate_permission: 'operator' });
    const before = syndicate.add('Paula before', 'resigned');
    run(world.services.state, 'UPDATE syndicate_members SET user_no = ? WHERE no = ?', [
      person.no,
      before.no,
    ]);
    await visit(path, person.email, 'join');
    expect(await memberOf(syndicate, before.id)).toMatchObject({
      role: 'manager',
      syndicate_permission: 'operator',
    });
    const { body } = await world.get(`${syndicate.path}/members`, { token: syndicate.creatorToken });
    expect(body.data).toHaveLength(2);
  });

  test('JOIN-01 an invitee who uses a join session keeps the invited role', async () => {
    const syndicate = foundSyndicate(world);
    const person = makePerson(world, 'Paula');
    const { id } = await invited(syndicate, { email: person.email });
    await visit(pathOf(await mint(syndicate, { email: person.email })), person.email, 'join');
    expect(await memberOf(syndicate, id)).toMatchObject({ role: 'manager', user: person.id });
  });
});

test('EVT-08 a failed payment ends the membership, and the event carries the reason', async () => {
  const syndicate = foundSyndicate(world);
  const mia = syndicate.add('Mia', 'operator');
  expect((await world.control('POST', `/syndicate_members/${mia.id}/fail_payment`)).status).toBe(200);
  expect(syndicate.told()).toMatchObject([
    {
      name: 'syndicate_member.left',
      data: { id: mia.id, status: 'payment_failed', user: { id: mia.person.id } },
    },
  ]);
  expect(await memberOf(syndicate, mia.id)).toMatchObject({ role: 'resigned', syndicate_permission: null });
  expect((await world.control('POST', `/syndicate_members/${mia.id}/fail_payment`)).status).toBe(400);
  expect((await world.control('POST', `/syndicate_members/${syndicate.creator.id}/leave`)).status).toBe(400);
});

test('EVT-09 session events reach only the installation that minted the session', async () => {
  const syndicate = foundSyndicate(world);
  const other = createEndpointFor(world, { syndicateNo: syndicate.no, scopes: ['write:syndicates'] });
  const own = createEndpointFor(world, { syndicateNo: syndicate.no, scopes: ['write:syndicate_members'] });
  const { state } = world.services;
  run(
    state,
    `INSERT INTO join_sessions (id, token, syndicate_no, installation_no, email, status, created_at, expires_at)
     VALUES ('join_own', 'jl_own', ?, ?, 'own@people.example', 'pending', 0, ?)`,
    [syndicate.no, own.installationNo, world.services.clock.now() + hour],
  );
  await visit('/join/jl_own', 'own@people.example', 'join');
  expect(own.delivered()).toEqual(['join_session.started', 'join_session.completed']);
  expect(other.delivered()).toEqual(['syndicate_member.applied']);
});

test('EVT-09 the platform sends the event of a session that ended during downtime after it restarts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'join-'));
  try {
    const dataFile = join(folder, 'platform.db');
    const before = await startPlatform({ limits: false, dataFile });
    const { no } = one<{ no: number }>(
      before.services.state,
      'SELECT no FROM syndicates ORDER BY no LIMIT 1',
    ) ?? {
      no: 0,
    };
    const endpoint = createEndpointFor(before, { syndicateNo: no, scopes: ['write:syndicate_members'] });
    run(
      before.services.state,
      `INSERT INTO join_sessions (id, token, syndicate_no, installation_no, email, status, created_at, expires_at)
       VALUES ('join_down', 'jl_down', ?, ?, 'down@people.example', 'pending', 0, ?)`,
      [no, endpoint.installationNo, before.services.clock.now() + hour],
    );
    await before.close();
    const after = await startPlatform({ limits: false, dataFile, clock: manualClock(worldStart + 2 * hour) });
    const told = all<{ body: string }>(after.services.state, 'SELECT body FROM webhook_deliveries');
    expect(told.map((row) => JSON.parse(row.body))).toMatchObject([
      { event: 'join_session.expired', data: { id: 'join_down', status: 'expired' } },
    ]);
    await after.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('closing an account deletes its sessions, its invitations and its data in syndicates', async () => {
  const syndicate = foundSyndicate(world);
  const person = makePerson(world, 'Paula Private', { hideLocation: false });
  const session = await mint(syndicate, {
    email: person.email,
    name: 'Paula Private',
    metadata: { note: 'Paula' },
  });
  await world.post(`${syndicate.path}/members/invite`, {
    token: syndicate.creatorToken,
    body: { email: person.email, name: 'Paula Private' },
  });
  await world.control('POST', `/users/${person.id}/deactivate`);
  const { body } = await sessions(syndicate);
  expect(body.data[0]).toMatchObject({
    id: session.body.data.id,
    attributes: { status: 'canceled', metadata: null },
  });
  const members = await world.get(`${syndicate.path}/members`, { token: syndicate.creatorToken });
  expect(JSON.stringify([body, members.body])).not.toMatch(new RegExp(`Paula|${person.email}`));
  expect(
    one(world.services.state, 'SELECT 1 FROM member_profiles WHERE user_no = ?', [person.no]),
  ).toBeUndefined();
});
