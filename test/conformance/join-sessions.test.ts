import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { revokeInstallation } from '../../src/platform/installations/revoke.js';
import { all, one, run } from '../../src/platform/state/statements.js';
import { manualClock } from '../support/manual-clock.js';
import { csrfOf, Visitor } from './credentials.js';
import { exampleShape, shapeOf } from './event-shapes.js';
import { type Answered, type RunningPlatform, startPlatform, worldStart } from './running-platform.js';
import {
  applicationToken,
  foundSyndicate,
  makePerson,
  standingOf,
  syndicateKey,
  type TestSyndicate,
} from './syndicate-life.js';
import { createEndpointFor } from './webhook-receivers.js';

let world: RunningPlatform;
let number = 0;

beforeAll(async () => {
  world = await startPlatform({ limits: false });
});
afterAll(() => world.close());

const hour = 3_600_000;
const now = () => new Date(world.services.clock.now()).toISOString();
const refusal = (answer: Answered) => [answer.status, answer.body.error.type];
const address = () => {
  number += 1;
  return `guest${number}@people.example`;
};

const mint = (
  syndicate: TestSyndicate,
  wish: Readonly<Record<string, unknown>> = {},
  token = syndicate.installationToken,
) =>
  world.post(`${syndicate.path}/join_sessions`, {
    token,
    body: { join_session: { email: address(), ...wish } },
  });

const sessions = (syndicate: TestSyndicate, query = '', token = syndicate.installationToken) =>
  world.get(`${syndicate.path}/join_sessions${query}`, { token });

const pathOf = (answer: Answered): string => new URL(answer.body.data.attributes.url).pathname;

/** Opens the link as a person and submits its form. */
async function visit(path: string, email: string, action: string): Promise<Answered> {
  const visitor = new Visitor(world);
  await visitor.signIn(path, email);
  return visitor.answer(path, { action });
}

const memberOf = async (syndicate: TestSyndicate, id: string) => {
  const { body } = await world.get(`${syndicate.path}/members?per_page=100`, {
    token: syndicate.creatorToken,
  });
  return body.data.find((row: { id: string }) => row.id === id)?.attributes;
};

describe('minting join sessions', () => {
  test('JOIN-01 JOIN-06 EVT-09 minting returns the whole session and sends an event to its installation', async () => {
    const syndicate = foundSyndicate(world);
    const wish = {
      email: 'first@people.example',
      name: 'Fia First',
      mode: 'hosted',
      success_url: 'https://partner.example/joined?from=here',
      expires_in_hours: 5,
      metadata: { ref: 'abc', seat: 3 },
    };
    const answer = await mint(syndicate, wish);
    expect(answer.status).toBe(201);
    const expires = new Date(world.services.clock.now() + 5 * hour).toISOString();
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^join_/),
      type: 'join_session',
      attributes: {
        status: 'pending',
        mode: 'hosted',
        syndicate: syndicate.id,
        email: 'first@people.example',
        name: 'Fia First',
        url: expect.stringMatching(new RegExp(`^${world.url}/join/jl_`)),
        success_url: 'https://partner.example/joined?from=here',
        member: null,
        metadata: { ref: 'abc', seat: 3 },
        created_at: now(),
        expires_at: expires,
      },
    });
    const told = syndicate.told();
    expect(shapeOf(told[0]?.data)).toEqual(exampleShape('join_session.created'));
    expect(told).toEqual([
      {
        name: 'join_session.created',
        data: {
          id: answer.body.data.id,
          status: 'pending',
          syndicate: syndicate.id,
          email: 'first@people.example',
          member: null,
          expires_at: expires,
          occurred_at: now(),
        },
      },
    ]);
  });

  test('JOIN-01 minting again for an address with an open session returns that session and sends no event', async () => {
    const syndicate = foundSyndicate(world);
    const first = await mint(syndicate, { email: 'same@people.example' });
    syndicate.told();
    const again = await mint(syndicate, { email: 'SAME@people.example', name: 'Other' });
    expect(again.status).toBe(201);
    expect(again.body).toEqual(first.body);
    expect(syndicate.told()).toEqual([]);
    world.clock.advance(73 * hour);
    const later = await mint(syndicate, { email: 'same@people.example' });
    expect(later.body.data.id).not.toBe(first.body.data.id);
  });

  test('JOIN-02 ERR-05 minting supports only mode hosted and lists every invalid field', async () => {
    const syndicate = foundSyndicate(world);
    const cases: [Readonly<Record<string, unknown>>, string][] = [
      [{ mode: 'embedded' }, 'join_session.mode'],
      [{ mode: null }, 'join_session.mode'],
      [{ email: 'nobody' }, 'join_session.email'],
      [{ success_url: 'http://partner.example/' }, 'join_session.success_url'],
      [{ success_url: 'javascript:alert(1)' }, 'join_session.success_url'],
      [{ success_url: 'https://user@partner.example/' }, 'join_session.success_url'],
      [{ expires_in_hours: 0 }, 'join_session.expires_in_hours'],
      [{ expires_in_hours: 721 }, 'join_session.expires_in_hours'],
      [{ metadata: { deep: {} } }, 'join_session.metadata.deep'],
    ];
    for (const [wish, field] of cases) {
      const answer = await mint(syndicate, wish);
      expect(refusal(answer)).toEqual([422, 'validation_error']);
      expect(answer.body.error.details.errors).toEqual([
        { field, code: expect.any(String), message: expect.any(String) },
      ]);
    }
    const bare = await world.post(`${syndicate.path}/join_sessions`, {
      token: syndicate.installationToken,
      body: {},
    });
    expect(bare.body.error.details.errors[0].field).toBe('join_session');
  });

  test('JOIN-03 SCOPE-21 minting requires write:syndicate_members, which write:syndicates includes', async () => {
    const syndicate = foundSyndicate(world);
    for (const scope of ['write:syndicate_members', 'write:syndicates']) {
      const token = syndicate.token(syndicate.creator, [scope]);
      expect((await mint(syndicate, {}, token)).status).toBe(201);
      expect((await sessions(syndicate, '', token)).status).toBe(200);
    }
    const reader = syndicate.token(syndicate.creator, ['read:syndicates']);
    const narrow = syndicate.token(syndicate.creator, ['write:syndicate_members']);
    expect(refusal(await mint(syndicate, {}, reader))).toEqual([403, 'insufficient_scope']);
    expect(refusal(await sessions(syndicate, '', reader))).toEqual([403, 'insufficient_scope']);
    expect(refusal(await world.get(syndicate.path, { token: narrow }))).toEqual([403, 'insufficient_scope']);
    const app = applicationToken(world, syndicate, ['read:public']);
    expect(refusal(await mint(syndicate, {}, app))).toEqual([403, 'insufficient_scope']);
  });

  test('JOIN-03 SEC-14 minting requires operator permission on the syndicate itself', async () => {
    const syndicate = foundSyndicate(world);
    const operator = syndicate.token(syndicate.add('Op', 'operator'));
    expect((await mint(syndicate, {}, operator)).status).toBe(201);
    expect((await mint(syndicate, {}, syndicateKey(world, syndicate))).status).toBe(201);
    const member = syndicate.token(syndicate.add('Mia'));
    const other = foundSyndicate(world).installationToken;
    for (const token of [member, other]) {
      expect(refusal(await mint(syndicate, {}, token))).toEqual([403, 'forbidden']);
      expect(refusal(await sessions(syndicate, '', token))).toEqual([403, 'forbidden']);
    }
  });

  test('JOIN-03 minting requires an active installation of the application on the syndicate', async () => {
    const syndicate = foundSyndicate(world);
    const { services } = world;
    const { no } = one<{ no: number }>(services.state, 'SELECT no FROM installations WHERE id = ?', [
      syndicate.installation,
    ]) ?? { no: 0 };
    expect((await mint(syndicate, {}, syndicate.creatorToken)).status).toBe(201);
    revokeInstallation(services, no, 'full_access', services.clock.now());
    expect(refusal(await mint(syndicate, {}, syndicate.creatorToken))).toEqual([403, 'forbidden']);
    expect(refusal(await sessions(syndicate, '', syndicate.creatorToken))).toEqual([403, 'forbidden']);
    expect((await mint(syndicate)).status).toBe(401);
  });

  test('JOIN-01 minting refuses the address of a member or of an exiled person', async () => {
    const syndicate = foundSyndicate(world);
    for (const standing of ['member', 'exiled'] as const) {
      const answer = await mint(syndicate, { email: syndicate.add(standing, standing).person.email });
      expect(refusal(answer)).toEqual([422, 'unprocessable_entity']);
    }
    for (const standing of ['invitee', 'applicant', 'resigned'] as const) {
      expect((await mint(syndicate, { email: syndicate.add(standing, standing).person.email })).status).toBe(
        201,
      );
    }
  });
});

describe('polling join sessions', () => {
  test('JOIN-04 JOIN-05 the list returns only the sessions of this installation, newest first', async () => {
    const syndicate = foundSyndicate(world);
    const made: string[] = [];
    for (let count = 0; count < 3; count += 1) made.unshift((await mint(syndicate)).body.data.id);
    const { no } = run(
      world.services.state,
      `INSERT INTO installations (id, application_no, realm, syndicate_no, tier, scopes, installed_at)
       VALUES ('inst_other${number}', 1, 'test', ?, 'full_access', 'write:syndicates', 0)`,
      [syndicate.no],
    );
    run(
      world.services.state,
      `INSERT INTO join_sessions (id, token, syndicate_no, installation_no, email, status, created_at, expires_at)
       VALUES ('join_other${number}', 'jl_other${number}', ?, ?, 'x@people.example', 'pending', 0, 9e15)`,
      [syndicate.no, no],
    );
    for (const token of [syndicate.installationToken, syndicate.creatorToken]) {
      const { body } = await sessions(syndicate, '', token);
      expect(body.data.map((row: { id: string }) => row.id)).toEqual(made);
      expect(body.meta).toEqual({ has_more: false, page_count: 3, next_cursor: null });
    }
    const first = await sessions(syndicate, '?per_page=2');
    const second = await sessions(syndicate, `?per_page=2&cursor=${first.body.meta.next_cursor}`);
    expect([...first.body.data, ...second.body.data].map((row: { id: string }) => row.id)).toEqual(made);
  });

  test('JOIN-04 JOIN-06 the list filters sessions by status and email', async () => {
    const syndicate = foundSyndicate(world);
    const short = await mint(syndicate, { expires_in_hours: 1 });
    const long = await mint(syndicate);
    world.clock.advance(hour);
    const found = async (query: string) =>
      (await sessions(syndicate, query)).body.data.map((row: { id: string }) => row.id);
    expect(await found('?status=expired')).toEqual([short.body.data.id]);
    expect(await found('?status=pending')).toEqual([long.body.data.id]);
    expect(await found(`?email=${long.body.data.attributes.email.toUpperCase()}`)).toEqual([
      long.body.data.id,
    ]);
    expect(refusal(await sessions(syndicate, '?status=lost'))).toEqual([400, 'invalid_parameter']);
  });
});

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

describe('expiry of join sessions', () => {
  test('JOIN-06 EVT-09 an unfinished session expires by the clock, even if no client asks for it', async () => {
    const syndicate = foundSyndicate(world);
    const person = makePerson(world, 'Paula');
    const session = await mint(syndicate, { email: person.email });
    await new Visitor(world).signIn(pathOf(session), person.email);
    syndicate.told();
    world.clock.advance(72 * hour - 1);
    expect((await sessions(syndicate)).body.data[0].attributes.status).toBe('pending');
    world.clock.advance(61_000);
    await expect
      .poll(() => syndicate.told())
      .toMatchObject([
        { name: 'join_session.expired', data: { id: session.body.data.id, status: 'expired' } },
      ]);
    expect((await sessions(syndicate)).body.data[0].attributes.status).toBe('expired');
    expect((await world.get(pathOf(session))).status).toBe(410);
    expect(syndicate.told()).toEqual([]);
  });
});

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
