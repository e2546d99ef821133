import { describe, expect, test } from 'vitest';
import { revokeInstallation } from '../../src/platform/installations/revoke.js';
import { one, run } from '../../src/platform/state/statements.js';
import { Visitor } from './credentials.js';
import { exampleShape, shapeOf } from './event-shapes.js';
import { hour, joinRequests, pathOf, refusal } from './join-requests.js';
import { applicationToken, foundSyndicate, makePerson, syndicateKey } from './syndicate-life.js';

const { world, now, mint, sessions } = await joinRequests();

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
       VALUES ('inst_other', 1, 'test', ?, 'full_access', 'write:syndicates', 0)`,
      [syndicate.no],
    );
    run(
      world.services.state,
      `INSERT INTO join_sessions (id, token, syndicate_no, installation_no, email, status, created_at, expires_at)
       VALUES ('join_other', 'jl_other', ?, ?, 'x@people.example', 'pending', 0, 9e15)`,
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
