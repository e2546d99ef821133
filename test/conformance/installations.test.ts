import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { defined } from '../../src/domain/defined.js';
import type { PlatformEvent } from '../../src/platform/events.js';
import { run } from '../../src/platform/state/statements.js';
import {
  approve,
  exchange,
  form,
  makeClient,
  makeCompany,
  makeOrganization,
  makeSyndicate,
  refresh,
  type TestClient,
  tokensFor,
  userNo,
  userToken,
  works,
} from './credentials.js';
import { exampleShape, shapeOf } from './event-shapes.js';
import { type RunningPlatform, startPlatform } from './running-platform.js';

let world: RunningPlatform;
let client: TestClient;
let events: PlatformEvent[] = [];
const ida = 'ida@people.example';
const ivan = 'ivan@people.example';
const declared = ['read:investments', 'write:webhooks', 'read:investors:pii', 'write:installations'];
const day = 86_400_000;

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  world.services.events.subscribe((event) => events.push(event));
});
afterAll(() => world.close());
beforeEach(() => {
  // Neither Ida nor Ivan has a role in the organization of the application.
  client = makeClient(world, { scopes: declared });
  events = [];
});

const install = (token: string, target: { id: string }, more: object = {}) =>
  world.post('/installations', {
    token,
    body: {
      target_type: target.id.startsWith('co_') ? 'company' : 'syndicate',
      target_id: target.id,
      ...more,
    },
  });

describe('creating an installation', () => {
  test('SEC-05 the token of an install is shown once', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    const token = userToken(world, client, ida);
    const { body } = await install(token, company);
    const secret = body.token.access_token;
    expect(await works(world, secret)).toBe(true);
    for (const path of ['/installations', `/installations/${body.data.id}`]) {
      const shown = await world.get(path, { token });
      expect(shown.status).toBe(200);
      expect(JSON.stringify(shown.body)).not.toContain(secret);
    }
  });

  test('INST-02 INST-03 INST-08 creating an install returns the whole record with a token', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    const token = userToken(world, client, ida);
    const answer = await install(token, company);
    expect(answer.status).toBe(201);
    const { id } = answer.body.data;
    const at = new Date(world.services.clock.now()).toISOString();
    expect(answer.body).toEqual({
      data: {
        id: expect.stringMatching(/^inst_/),
        type: 'installation',
        attributes: {
          target: { type: 'company', id: company.id, name: expect.stringMatching(/^Company/) },
          tier: 'founder',
          scopes: ['read:investments', 'write:webhooks', 'write:installations'],
          status: 'active',
          installed_at: at,
          installed_by: 'Ida Investor',
          revoked_at: null,
        },
      },
      token: {
        access_token: expect.stringMatching(/^at_test_/),
        token_type: 'Bearer',
        scope: 'read:investments write:webhooks write:installations',
        installation: id,
        created_at: Math.floor(Date.parse(at) / 1000),
      },
      meta: null,
    });
    expect(await works(world, answer.body.token.access_token)).toBe(true);
    const shown = await world.get(`/installations/${id}`, { token });
    expect(shown.body).toEqual({ data: answer.body.data });
  });

  test('OAUTH-17 an installation token does not expire', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    const { body } = await install(userToken(world, client, ida), company);
    world.clock.advance(3 * 365 * day);
    expect(await works(world, body.token.access_token)).toBe(true);
    world.clock.advance(-3 * 365 * day);
  });

  test('INST-01 creating an install requires a user token with the scope', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    const without = await install(userToken(world, client, ida, ['read:installations']), company);
    expect([without.status, without.body.error.type]).toEqual([403, 'insufficient_scope']);
    const unread = await world.get('/installations', {
      token: userToken(world, client, ida, ['read:profile']),
    });
    expect([unread.status, unread.body.error.type]).toEqual([403, 'insufficient_scope']);
    const made = await install(userToken(world, client, ida), company);
    const other = makeCompany(world, { ida: ['founder'] });
    for (const answer of [
      await install(made.body.token.access_token, other),
      await world.get('/installations', { token: made.body.token.access_token }),
    ]) {
      expect([answer.status, answer.body.error.type]).toEqual([403, 'forbidden']);
    }
  });

  test('INST-04 ERR-05 creating an install requires both fields of the target', async () => {
    const answer = await world.post('/installations', { token: userToken(world, client, ida), body: {} });
    expect([answer.status, answer.body.error.type]).toEqual([422, 'validation_error']);
    const fields = answer.body.error.details.errors.map((error: { field: string }) => error.field);
    expect(fields.sort()).toEqual(['target_id', 'target_type']);
    const body = { target_type: 'user', target_id: 'usr_any' };
    const other = await world.post('/installations', { token: userToken(world, client, ida), body });
    expect([other.status, other.body.error.details.errors[0].field]).toEqual([422, 'target_type']);
  });

  test('INST-10 creating an install with an unknown target type returns 422', async () => {
    const answer = await world.post('/installations', {
      token: userToken(world, client, ida),
      body: { target_type: 'fund', target_id: 'co_1' },
    });
    expect([answer.status, answer.body.error.type]).toEqual([422, 'validation_error']);
  });

  test('INST-08 SEC-01 an unknown target, a stranger’s and one of the other realm return the same error', async () => {
    const token = userToken(world, client, ida);
    const others = makeCompany(world, { ivan: ['founder'] });
    const live = makeCompany(world, { ida: ['founder'] }, 'live');
    for (const target of [{ id: 'co_nowhere' }, others, live, { id: 'syn_nowhere' }]) {
      const answer = await install(token, target);
      expect([answer.status, answer.body.error.type]).toEqual([404, 'not_found']);
    }
  });

  test('INST-05 the scopes parameter narrows the grant, and scopes the application lacks are dropped silently', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    const asked = ['read:webhooks', 'read:offerings', 'read:syndicates', 'read:investments', 'admin:read'];
    const { body } = await install(userToken(world, client, ida), company, { scopes: asked });
    expect(body.data.attributes.scopes).toEqual(['read:webhooks', 'read:investments']);
    expect(body.token.scope).toBe('read:webhooks read:investments');
  });

  test.each([[[]], [['read:syndicates']], [['read:public']], [['admin:write', 'read:mcp']]])(
    'INST-10 creating an install with scopes %j returns no_grantable_scopes',
    async (scopes) => {
      const company = makeCompany(world, { ida: ['founder'] });
      const answer = await install(userToken(world, client, ida), company, { scopes });
      expect([answer.status, answer.body.error.type]).toEqual([422, 'no_grantable_scopes']);
      expect((await install(userToken(world, client, ida), company)).status).toBe(201);
    },
  );

  test('INST-06 the install gets the caller’s own tier; a higher tier is granted only if the caller holds it', async () => {
    const company = () => makeCompany(world, { ida: ['admin'], ivan: ['founder'] });
    const tier = async (email: string, wish?: string) =>
      (await install(userToken(world, client, email), company(), defined({ tier: wish }))).body.data
        .attributes.tier;
    expect(await tier(ida)).toBe('admin');
    expect(await tier(ida, 'founder')).toBe('admin');
    expect(await tier(ida, 'full_access')).toBe('admin');
    expect(await tier(ivan, 'founder')).toBe('founder');
    expect(await tier(ivan, 'editor')).toBe('editor');
  });

  test('INST-07 an editor installs with read scopes only', async () => {
    const company = makeCompany(world, { ida: ['editor'] });
    const { body } = await install(userToken(world, client, ida), company);
    expect(body.data.attributes).toMatchObject({ tier: 'editor', scopes: ['read:investments'] });
    const writes = await install(userToken(world, client, ida), makeCompany(world, { ida: ['editor'] }), {
      scopes: ['write:webhooks'],
    });
    expect([writes.status, writes.body.error.type]).toEqual([422, 'no_grantable_scopes']);
  });

  test('VERS-16 founders and admins without edit access install read-only on 2026-10-15', async () => {
    const scopes = async (tier: 'founder' | 'admin', version: string) => {
      const company = makeCompany(world, { ida: [tier, false] });
      const answer = await world.post('/installations', {
        token: userToken(world, client, ida),
        headers: { 'Service-Version': version },
        body: { target_type: 'company', target_id: company.id },
      });
      return answer.body.data.attributes.scopes;
    };
    for (const tier of ['founder', 'admin'] as const) {
      expect(await scopes(tier, '2026-10-15')).toEqual(['read:investments']);
      expect(await scopes(tier, '2026-10-01')).toContain('write:webhooks');
    }
  });

  test('INST-02 a syndicate install needs full access; an operator cannot create one', async () => {
    const syndicate = makeSyndicate(world, { ida: 'full_access', ivan: 'operator' });
    const operator = await install(userToken(world, client, ivan), syndicate);
    expect([operator.status, operator.body.error.type]).toEqual([404, 'not_found']);
    const { body } = await install(userToken(world, client, ida), syndicate);
    expect(body.data.attributes).toMatchObject({
      tier: 'full_access',
      target: { type: 'syndicate', id: syndicate.id },
    });
  });

  test('INST-09 ERR-07 a second install returns already_installed with the first one, until the first is revoked', async () => {
    const company = makeCompany(world, { ida: ['founder'], ivan: ['admin'] });
    const token = userToken(world, client, ida);
    const first = await install(token, company);
    const second = await install(userToken(world, client, ivan), company);
    expect([second.status, second.body.error.type]).toEqual([409, 'already_installed']);
    expect(second.body.error.details).toEqual({ installation: first.body.data.id });
    await world.delete(`/installations/${first.body.data.id}`, { token });
    expect((await install(token, company)).status).toBe(201);
    const another = makeClient(world, { scopes: declared });
    expect((await install(userToken(world, another, ida), company)).status).toBe(201);
  });

  test('INST-11 INST-12 APP-03 an unapproved live application installs only on targets its organization manages', async () => {
    const live = makeClient(world, { scopes: declared, realm: 'live', approved: false });
    const outside = makeCompany(world, { ida: ['founder'] }, 'live');
    const answer = await install(userToken(world, live, ida), outside);
    expect([answer.status, answer.body.error.type]).toEqual([403, 'forbidden']);
    const inside = makeCompany(world, { ida: ['founder'], developer: ['editor'] }, 'live');
    expect((await install(userToken(world, live, ida), inside)).status).toBe(201);
    const approved = makeClient(world, { scopes: declared, realm: 'live' });
    expect((await install(userToken(world, approved, ida), outside)).status).toBe(201);
  });

  test('APP-05 a test application installs anywhere without review', async () => {
    const unreviewed = makeClient(world, { scopes: declared, approved: false });
    const company = makeCompany(world, { ida: ['founder'] });
    expect((await install(userToken(world, unreviewed, ida), company)).status).toBe(201);
  });

  test('a suspended application can neither install nor mint tokens', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    const token = userToken(world, client, ida);
    const { body } = await install(token, company);
    run(world.services.state, `UPDATE applications SET status = 'suspended' WHERE no = ?`, [
      client.applicationNo,
    ]);
    const again = await install(token, makeCompany(world, { ida: ['founder'] }));
    expect([again.status, again.body.error.type]).toEqual([403, 'forbidden']);
    expect((await world.post(`/installations/${body.data.id}/tokens`, { token })).status).toBe(403);
    expect(await works(world, body.token.access_token)).toBe(true);
  });

  test('SCOPE-16 SEC-10 the installer grants identity, or the application is approved for it', async () => {
    const scopes = async (by: TestClient, email: string, name: string) => {
      const company = makeCompany(world, { [name]: ['founder'] });
      return (await install(userToken(world, by, email), company)).body.data.attributes.scopes;
    };
    expect(await scopes(client, ida, 'ida')).not.toContain('read:investors:pii');
    expect(await scopes(client, 'developer@people.example', 'developer')).toContain('read:investors:pii');
    const approved = makeClient(world, { scopes: declared, piiApproved: true });
    expect(await scopes(approved, ida, 'ida')).toContain('read:investors:pii');
  });

  test('SEC-10 the identity grant of an install never changes after creation', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    const token = userToken(world, client, ida);
    const { body } = await install(token, company);
    run(world.services.state, 'UPDATE applications SET pii_approved = 1 WHERE no = ?', [
      client.applicationNo,
    ]);
    const path = `/installations/${body.data.id}`;
    const minted = await world.post(`${path}/tokens`, { token, body: { scopes: ['read:investors:pii'] } });
    expect([minted.status, minted.body.error.type]).toEqual([422, 'no_grantable_scopes']);
    const approved = makeClient(world, { scopes: declared, piiApproved: true });
    const own = userToken(world, approved, ida);
    const granted = await install(own, company);
    run(world.services.state, 'UPDATE applications SET pii_approved = 0 WHERE no = ?', [
      approved.applicationNo,
    ]);
    const kept = await world.post(`/installations/${granted.body.data.id}/tokens`, { token: own });
    expect(kept.body.token.scope).toContain('read:investors:pii');
  });

  test('SCOPE-14 an install never holds application-only scopes', async () => {
    const referral = makeClient(world, { scopes: ['read:investments', 'write:referral_codes'] });
    const company = makeCompany(world, { ida: ['founder'] });
    const { body } = await install(userToken(world, referral, ida), company);
    expect(body.data.attributes.scopes).toEqual(['read:investments']);
  });
});

describe('reading installations', () => {
  test('INST-13 eligible lists the targets a user may install on, each with its current install', async () => {
    const company = makeCompany(world, { ivan: ['founder'] });
    const syndicate = makeSyndicate(world, { ivan: 'full_access' });
    const token = userToken(world, client, ivan);
    const { body } = await install(token, company);
    const find = (answer: { body: { data: { id: string }[] } }, id: string) =>
      answer.body.data.find((item) => item.id === id);
    const elsewhere = makeSyndicate(world, { ivan: 'full_access' });
    run(world.services.state, `UPDATE syndicates SET realm = 'live' WHERE no = ?`, [elsewhere.no]);
    const all = await world.get('/installations/eligible', { token });
    expect(find(all, elsewhere.id)).toBeUndefined();
    expect(find(all, company.id)).toEqual({
      type: 'company',
      id: company.id,
      name: expect.any(String),
      tier: 'founder',
      installed: true,
      installation: body.data,
    });
    expect(find(all, syndicate.id)).toMatchObject({
      tier: 'full_access',
      installed: false,
      installation: null,
    });
    const companies = await world.get('/installations/eligible?target_type=company', { token });
    expect(find(companies, syndicate.id)).toBeUndefined();
    expect(find(companies, company.id)).toBeDefined();
    const wrong = await world.get('/installations/eligible?target_type=fund', { token });
    expect([wrong.status, wrong.body.error.details]).toEqual([400, { parameter: 'target_type' }]);
    await world.delete(`/installations/${body.data.id}`, { token });
    expect(find(await world.get('/installations/eligible', { token }), company.id)).toMatchObject({
      installed: false,
      installation: null,
    });
  });

  test('a user who edits nothing gets an empty eligible list, not an error', async () => {
    const token = userToken(world, client, 'developer@people.example');
    const answer = await world.get('/installations/eligible?target_type=syndicate', { token });
    expect([answer.status, answer.body.data]).toEqual([200, []]);
  });

  test('INST-14 SEC-01 an install is visible to its creator, to anyone who could revoke it and to managers of the organization', async () => {
    const company = makeCompany(world, { ida: ['founder'], ivan: ['editor'] });
    const { body } = await install(userToken(world, client, ida), company);
    const path = `/installations/${body.data.id}`;
    const status = async (email: string, by = client) =>
      (await world.get(path, { token: userToken(world, by, email) })).status;
    expect(await status(ida)).toBe(200);
    expect(await status(ivan)).toBe(200);
    expect(await status('developer@people.example')).toBe(200);
    const founder = world.ready.users[2]?.email ?? '';
    expect(await status(founder)).toBe(404);
    const stranger = makeClient(world, { scopes: declared });
    expect(await status(ida, stranger)).toBe(404);
    const unknown = await world.get('/installations/inst_unknown', { token: userToken(world, client, ida) });
    expect([unknown.status, unknown.body.error.type]).toEqual([404, 'not_found']);
  });

  test('CONV-06 the listing keeps revoked installs for 30 days', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    let token = userToken(world, client, ida);
    const { body } = await install(token, company);
    await world.delete(`/installations/${body.data.id}`, { token });
    world.clock.advance(30 * day - 1);
    token = userToken(world, client, ida);
    const listed = await world.get('/installations', { token });
    expect(listed.body.data.map((item: { id: string }) => item.id)).toEqual([body.data.id]);
    expect(listed.body.meta).toEqual({ count: 1, page_count: 1, has_more: false, next_cursor: null });
    world.clock.advance(1);
    expect((await world.get('/installations', { token })).body.data).toEqual([]);
    world.clock.advance(-30 * day);
  });

  test('the listing shows a person only the installs they can read one by one, and shows managers all of them', async () => {
    const mine = await install(userToken(world, client, ida), makeCompany(world, { ida: ['founder'] }));
    const his = await install(userToken(world, client, ivan), makeCompany(world, { ivan: ['founder'] }));
    const ids = async (email: string) =>
      (await world.get('/installations', { token: userToken(world, client, email) })).body.data.map(
        (item: { id: string }) => item.id,
      );
    expect(await ids(ida)).toEqual([mine.body.data.id]);
    expect(await ids('developer@people.example')).toEqual([his.body.data.id, mine.body.data.id]);
  });
});

describe('minting installation tokens', () => {
  test('INST-17 INST-18 an additional token has the scopes of the install by default and can only narrow them', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    const token = userToken(world, client, ida);
    const { body } = await install(token, company);
    const path = `/installations/${body.data.id}/tokens`;
    const whole = await world.post(path, { token });
    expect(whole.status).toBe(201);
    expect(whole.body).toMatchObject({ data: body.data, meta: null, token: { scope: body.token.scope } });
    expect(whole.body.token.access_token).not.toBe(body.token.access_token);
    expect(await works(world, body.token.access_token)).toBe(true);
    const less = await world.post(path, { token, body: { scopes: ['read:webhooks', 'read:syndicates'] } });
    expect(less.body.token.scope).toBe('read:webhooks');
    expect(less.body.data.attributes.scopes).toEqual(body.data.attributes.scopes);
    const none = await world.post(path, { token, body: { scopes: [] } });
    expect([none.status, none.body.error.type]).toEqual([422, 'no_grantable_scopes']);
  });

  test('INST-19 the installer, a company editor and an organization developer may mint; others get the not-found error', async () => {
    const company = makeCompany(world, { ida: ['founder'], ivan: ['editor'] });
    const { body } = await install(userToken(world, client, ida), company);
    const status = async (email: string) =>
      (
        await world.post(`/installations/${body.data.id}/tokens`, {
          token: userToken(world, client, email),
        })
      ).status;
    expect(await status(ida)).toBe(201);
    expect(await status(ivan)).toBe(201);
    expect(await status('developer@people.example')).toBe(201);
    expect(await status(world.ready.users[2]?.email ?? '')).toBe(404);
    run(world.services.state, 'DELETE FROM company_members WHERE company_no = ?', [company.no]);
    expect(await status(ida)).toBe(201);
    expect(await status(ivan)).toBe(404);
  });

  test('INST-20 a revoked install mints no tokens and stays revoked', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    const token = userToken(world, client, ida);
    const { body } = await install(token, company);
    const path = `/installations/${body.data.id}`;
    await world.delete(path, { token });
    const answer = await world.post(`${path}/tokens`, { token });
    expect([answer.status, answer.body.error.type]).toEqual([409, 'conflict']);
    expect((await world.get(path, { token })).body.data.attributes.status).toBe('revoked');
  });
});

describe('revoking installations', () => {
  test('INST-15 revoking an install ends all of its tokens and no others', async () => {
    const company = makeCompany(world, { ida: ['founder'] });
    const token = userToken(world, client, ida);
    const { body } = await install(token, company);
    const other = await install(token, makeCompany(world, { ida: ['founder'] }));
    const path = `/installations/${body.data.id}`;
    const more = await world.post(`${path}/tokens`, { token });
    const answer = await world.delete(path, { token });
    expect(answer.status).toBe(200);
    expect(answer.body.data.attributes).toMatchObject({
      status: 'revoked',
      revoked_at: new Date(world.services.clock.now()).toISOString(),
    });
    expect(await works(world, body.token.access_token)).toBe(false);
    expect(await works(world, more.body.token.access_token)).toBe(false);
    expect(await works(world, other.body.token.access_token)).toBe(true);
    expect(await works(world, token)).toBe(true);
    expect((await world.delete(path, { token })).status).toBe(200);
  });

  test('INST-16 company editors, syndicate managers and administrators may revoke an install; a developer may not', async () => {
    const company = () => makeCompany(world, { ida: ['founder'], ivan: ['editor'] });
    const revokedBy = async (email: string, target: { id: string }, by = ida) => {
      const { body } = await install(userToken(world, client, by), target);
      const answer = await world.delete(`/installations/${body.data.id}`, {
        token: userToken(world, client, email),
      });
      return answer.status;
    };
    expect(await revokedBy(ida, company())).toBe(200);
    expect(await revokedBy(ivan, company())).toBe(200);
    expect(await revokedBy('owner@people.example', company())).toBe(200);
    expect(await revokedBy('developer@people.example', company())).toBe(403);
    expect(await revokedBy(world.ready.users[2]?.email ?? '', company())).toBe(404);
    const syndicate = makeSyndicate(world, { ida: 'full_access', ivan: 'operator' });
    expect(await revokedBy(ivan, syndicate)).toBe(200);
    const withoutEdit = makeCompany(world, { ida: ['founder', false] });
    expect(await revokedBy(ida, withoutEdit)).toBe(403);
  });
});

describe('events and access of installations', () => {
  const data = (event: PlatformEvent | undefined) =>
    event?.dataFor({ scopes: new Set(), kind: 'company' }) as Record<string, unknown>;

  test('SEC-12 the created and revoked events carry what was installed and the role, never the person', async () => {
    const company = makeCompany(world, { ida: ['founder'], ivan: ['editor'] });
    const { body } = await install(userToken(world, client, ida), company);
    await world.delete(`/installations/${body.data.id}`, { token: userToken(world, client, ivan) });
    expect(events.map((event) => event.name)).toEqual(['installation.created', 'installation.revoked']);
    const at = new Date(world.services.clock.now()).toISOString();
    expect(data(events[0])).toEqual({
      id: body.data.id,
      target: { type: 'company', id: company.id },
      tier: 'founder',
      scopes: body.data.attributes.scopes,
      status: 'active',
      installed_at: at,
      revoked_at: null,
      actor: { role: 'founder' },
    });
    expect(data(events[1])).toMatchObject({ status: 'revoked', revoked_at: at, actor: { role: 'editor' } });
    for (const event of events) expect(exampleShape(event.name)).toEqual(shapeOf(data(event)));
    expect(JSON.stringify(events.map(data))).not.toMatch(/Ida|Ivan|@/);
    expect(events[0]).toMatchObject({ realm: 'test', companyNo: company.no, syndicateNo: null });
  });

  test('a connection is an installation, and revoking the last consent revokes it', async () => {
    const first = await tokensFor(world, client, ida);
    const second = await tokensFor(world, client, ida, { scope: 'read:investments' });
    expect(events.map((event) => event.name)).toEqual(['installation.created']);
    expect(data(events[0])).toMatchObject({
      target: { type: 'user', id: world.ready.users.find((user) => user.email === ida)?.id },
      tier: 'user',
      scopes: ['read:profile'],
      actor: { role: 'user' },
    });
    const revoke = (token: string) =>
      world.post('/oauth/revoke', {
        body: form({ token, client_id: client.clientId, client_secret: client.secret }),
      });
    await revoke(first.refresh_token);
    expect(events).toHaveLength(1);
    await revoke(second.access_token);
    expect(events.map((event) => event.name)).toEqual(['installation.created', 'installation.revoked']);
    expect((await refresh(world, client, second.refresh_token)).body.error).toBe('invalid_grant');
    const listed = await world.get('/installations', {
      token: userToken(world, client, 'developer@people.example'),
    });
    expect(listed.body.data).toEqual([]);
  });

  test('an authorization code that is never exchanged creates no connection', async () => {
    const to = await approve(world, client, ida);
    expect(events).toEqual([]);
    await exchange(world, client, to.searchParams.get('code') ?? '');
    expect(events).toHaveLength(1);
  });
});

test('SEC-14 ERR-12 an installation token reads its own company and is refused at another', async () => {
  const [own, other] = world.ready.companies;
  if (own === undefined || other === undefined) throw new Error('the sandbox has too few companies');
  const founder = world.ready.users.find((user) => user.id === own.founder)?.email ?? '';
  const { body } = await install(userToken(world, client, founder), own);
  const { access_token: token } = body.token;
  const mine = await world.get(`/investments?company_id=${own.id}`, { token });
  expect([mine.status, mine.body.data.length]).toEqual([200, own.investments]);
  const all = await world.get('/investments', { token });
  expect(new Set(all.body.data.map((row: { company: string }) => row.company))).toEqual(new Set([own.id]));
  for (const path of [
    `/investments?company_id=${other.id}`,
    `/offerings/${other.offering}/stats`,
    `/companies/${other.id}/investments/changes`,
  ]) {
    const answer = await world.get(path, { token });
    expect([answer.status, answer.body.error.type]).toEqual([403, 'forbidden']);
  }
});

test('APP-03 an organization manages the companies its managers edit; a viewer does not count', async () => {
  const organizationNo = makeOrganization(world, 'viewers');
  const add = 'INSERT INTO organization_members (organization_no, user_no, role) VALUES (?, ?, ?)';
  run(world.services.state, add, [organizationNo, userNo(world, ivan), 'viewer']);
  const live = makeClient(world, { organizationNo, scopes: declared, realm: 'live', approved: false });
  const company = makeCompany(world, { ida: ['founder'], ivan: ['founder'] }, 'live');
  expect((await install(userToken(world, live, ida), company)).status).toBe(403);
  run(world.services.state, `UPDATE organization_members SET role = 'developer' WHERE organization_no = ?`, [
    organizationNo,
  ]);
  expect((await install(userToken(world, live, ida), company)).status).toBe(201);
});
