import { describe, expect, test } from 'vitest';
import { revokeInstallation } from '../../src/platform/installations/revoke.js';
import { one, run } from '../../src/platform/state/statements.js';
import { csrfOf, Visitor } from './credentials.js';
import { joinRequests, pathOf } from './join-requests.js';
import { foundSyndicate, makePerson, standingOf } from './syndicate-life.js';

const { world, now, address, mint, sessions, visit, memberOf } = await joinRequests();

describe('the join page', () => {
  test('the join page needs no script, forbids script by its policy and hides the email address from other visitors', async () => {
    const syndicate = foundSyndicate(world);
    const person = makePerson(world, 'Paula');
    const session = await mint(syndicate, {
      email: person.email,
      success_url: 'https://partner.example/done',
    });
    const path = pathOf(session);
    const stranger = new Visitor(world);
    const page = await stranger.open(path);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'/,
    );
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.body).not.toMatch(/<script|javascript:|people\.example/);
    await stranger.signIn(path, 'ida@people.example');
    const wrong = await stranger.open(path);
    expect([wrong.status, wrong.body.includes(person.email)]).toEqual([403, false]);
    const forced = await stranger.submit(path, { csrf: csrfOf(wrong), action: 'join' });
    expect(forced.status).toBe(403);
    expect((await sessions(syndicate)).body.data[0].attributes.status).toBe('pending');
    const owner = new Visitor(world);
    await owner.signIn(path, person.email);
    const asked = await owner.open(path);
    expect(asked.headers.get('content-security-policy')).toContain(
      "form-action 'self' https://partner.example;",
    );
    expect(asked.body).toContain('Test Partner');
  });

  test('the join page ignores a form of another visit', async () => {
    const syndicate = foundSyndicate(world);
    const person = makePerson(world, 'Paula');
    const session = await mint(syndicate, { email: person.email });
    const visitor = new Visitor(world);
    await visitor.signIn(pathOf(session), person.email);
    expect((await visitor.submit(pathOf(session), { csrf: 'guessed', action: 'join' })).status).toBe(403);
    const other = new Visitor(world);
    expect((await other.submit(pathOf(session), { csrf: 'guessed', action: 'join' })).status).toBe(403);
    expect((await visitor.answer(pathOf(session), { action: 'toString' })).status).toBe(400);
    expect((await world.get('/join/jl_unknown')).status).toBe(404);
    expect(syndicate.told().map(({ name }) => name)).toEqual([
      'join_session.created',
      'join_session.started',
    ]);
  });

  test('the join page shows names with markup as text', async () => {
    const syndicate = foundSyndicate(world);
    syndicate.set({ name: '<b>Bold</b> & "Sons"' });
    const page = await world.get(pathOf(await mint(syndicate)));
    expect(page.body).toContain('&lt;b&gt;Bold&lt;/b&gt; &amp; &quot;Sons&quot;');
    expect(page.body).not.toContain('<b>Bold');
  });
});

describe('answering a join session', () => {
  test('JOIN-04 EVT-07 EVT-09 joining without automatic approval creates an applicant and completes the session', async () => {
    const syndicate = foundSyndicate(world);
    const person = makePerson(world, 'Paula');
    const session = await mint(syndicate, {
      email: person.email,
      success_url: 'https://partner.example/done?x=1',
    });
    const answer = await visit(pathOf(session), person.email, 'join');
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(
      `https://partner.example/done?x=1&join_session=${session.body.data.id}&status=completed`,
    );
    const { attributes } = (await sessions(syndicate)).body.data[0];
    expect(attributes).toMatchObject({ status: 'completed', member: expect.stringMatching(/^mem_/) });
    expect(await memberOf(syndicate, attributes.member)).toMatchObject({
      role: 'applicant',
      user: person.id,
    });
    const told = syndicate.told();
    expect(told.map(({ name }) => name)).toEqual([
      'join_session.created',
      'join_session.started',
      'syndicate_member.applied',
      'join_session.completed',
    ]);
    expect(told[2]?.data).toEqual({
      id: attributes.member,
      syndicate: syndicate.id,
      status: 'pending',
      user: { id: person.id, name: 'Paula', email: person.email },
      approved_by: null,
      occurred_at: now(),
    });
    expect(told[3]?.data).toMatchObject({ status: 'completed', member: attributes.member });
  });

  test('joining ends at a success_url with letters of any script', async () => {
    const syndicate = foundSyndicate(world);
    const person = makePerson(world, 'Paula');
    const session = await mint(syndicate, {
      email: person.email,
      success_url: 'https://partner.example/完了',
    });
    const answer = await visit(pathOf(session), person.email, 'join');
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      `https://partner.example/%E5%AE%8C%E4%BA%86?join_session=${session.body.data.id}&status=completed`,
    ]);
  });

  test('SYN-06 EVT-07 auto_approve_join_sessions makes the person a member at once, with no approver recorded', async () => {
    const syndicate = foundSyndicate(world);
    syndicate.set({ auto_approve_join_sessions: 1 });
    const person = makePerson(world, 'Paula');
    await visit(pathOf(await mint(syndicate, { email: person.email })), person.email, 'join');
    const { member } = (await sessions(syndicate)).body.data[0].attributes;
    expect(await memberOf(syndicate, member)).toMatchObject({ role: 'member', syndicate_permission: null });
    expect(syndicate.told().slice(2, 5)).toMatchObject([
      { name: 'syndicate_member.applied', data: { status: 'pending' } },
      { name: 'syndicate_member.approved', data: { status: 'approved', approved_by: null } },
      { name: 'syndicate_member.joined', data: { status: 'member', approved_by: null } },
    ]);
  });

  test('SYN-06 auto_accept_accredited_members admits accredited people and leaves the others waiting', async () => {
    const syndicate = foundSyndicate(world);
    syndicate.set({ auto_accept_accredited_members: 1 });
    for (const [accredited, role] of [
      [true, 'member'],
      [false, 'applicant'],
    ] as const) {
      const person = makePerson(world, 'Person', { accredited });
      const session = await mint(syndicate, { email: person.email });
      await visit(pathOf(session), person.email, 'join');
      const { member } = (await sessions(syndicate)).body.data[0].attributes;
      expect(await memberOf(syndicate, member)).toMatchObject({ role });
    }
  });

  test('JOIN-01 an address without an account gets one only through the link sent to it', async () => {
    const syndicate = foundSyndicate(world);
    const email = address();
    const session = await mint(syndicate, { email, name: 'Nina New' });
    const other = await new Visitor(world).signIn(pathOf(session), address());
    expect(other.status).toBe(422);
    await visit(pathOf(session), email, 'join');
    const { member } = (await sessions(syndicate)).body.data[0].attributes;
    expect(await memberOf(syndicate, member)).toMatchObject({ user_name: 'Nina New', user_email: email });
    const accounts = 'SELECT count(*) AS count FROM users WHERE email = ?';
    expect(one(world.services.state, accounts, [email])).toEqual({ count: 1 });
  });

  test('JOIN-04 EVT-09 declining ends the session and creates no member', async () => {
    const syndicate = foundSyndicate(world);
    const person = makePerson(world, 'Paula');
    const session = await mint(syndicate, { email: person.email });
    const answer = await visit(pathOf(session), person.email, 'decline');
    expect(answer.status).toBe(200);
    expect((await sessions(syndicate)).body.data[0].attributes).toMatchObject({
      status: 'canceled',
      member: null,
    });
    expect(syndicate.told().at(-1)).toMatchObject({
      name: 'join_session.canceled',
      data: { status: 'canceled' },
    });
    expect((await world.get(pathOf(session))).status).toBe(410);
    expect((await mint(syndicate, { email: person.email })).body.data.id).not.toBe(session.body.data.id);
  });

  test('EVT-08 an applicant withdraws, and a member leaves, on the join page', async () => {
    const syndicate = foundSyndicate(world);
    const person = makePerson(world, 'Paula');
    const first = await mint(syndicate, { email: person.email });
    await visit(pathOf(first), person.email, 'join');
    syndicate.told();
    await visit(pathOf(first), person.email, 'withdraw');
    const { member } = (await sessions(syndicate)).body.data[0].attributes;
    expect(syndicate.told()).toMatchObject([
      {
        name: 'syndicate_member.declined',
        data: { id: member, status: 'withdrawn', user: { id: person.id } },
      },
    ]);
    expect(await memberOf(syndicate, member)).toBeUndefined();
    syndicate.set({ auto_approve_join_sessions: 1 });
    const second = await mint(syndicate, { email: person.email });
    await visit(pathOf(second), person.email, 'join');
    syndicate.told();
    await visit(pathOf(second), person.email, 'leave');
    expect(syndicate.told()).toMatchObject([
      { name: 'syndicate_member.left', data: { id: member, status: 'left', user: { id: person.id } } },
    ]);
    expect(await memberOf(syndicate, member)).toMatchObject({ role: 'resigned' });
    await visit(pathOf(second), person.email, 'leave');
    expect(syndicate.told()).toEqual([]);
  });

  test('a person exiled after the link was sent cannot rejoin with it', async () => {
    const syndicate = foundSyndicate(world);
    syndicate.set({ auto_approve_join_sessions: 1 });
    const person = makePerson(world, 'Paula');
    const session = await mint(syndicate, { email: person.email });
    const row = syndicate.add('Paula again', 'exiled');
    run(world.services.state, 'UPDATE syndicate_members SET user_no = ? WHERE no = ?', [person.no, row.no]);
    expect((await visit(pathOf(session), person.email, 'join')).status).toBe(403);
    expect(standingOf(world, row)).toBe('exiled');
    expect((await sessions(syndicate)).body.data[0].attributes.status).toBe('in_progress');
  });

  test('revoking the installation that minted a session ends the session', async () => {
    const syndicate = foundSyndicate(world);
    const session = await mint(syndicate);
    const { no } = one<{ no: number }>(world.services.state, 'SELECT no FROM installations WHERE id = ?', [
      syndicate.installation,
    ]) ?? { no: 0 };
    revokeInstallation(world.services, no, 'full_access', world.services.clock.now());
    expect((await world.get(pathOf(session))).status).toBe(410);
  });
});
