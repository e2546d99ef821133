import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applicationByNo } from '../../src/platform/applications/model.js';
import { approveIdentity, decideReview, suspend } from '../../src/platform/applications/standing.js';
import { mintToken } from '../../src/platform/oauth/mint.js';
import { digestOf } from '../../src/platform/state/secrets.js';
import { one, run } from '../../src/platform/state/statements.js';
import {
  authorizePath,
  codeFor,
  exchange,
  form,
  location,
  makeClient,
  makeCompany,
  makeOrganization,
  refresh,
  type TestClient,
  tokensFor,
  userToken,
  Visitor,
  works,
} from './credentials.js';
import { type RunningPlatform, startPlatform } from './running-platform.js';

let world: RunningPlatform;
let portal: TestClient;
const ida = 'ida@people.example';
const owner = 'owner@people.example';
const developer = 'developer@people.example';

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  portal = makeClient(world, { name: 'Portal' });
});
afterAll(() => world.close());

const as = (email: string, client = portal) => userToken(world, client, email, ['read:profile']);
const create = (body: object, email = developer) =>
  world.post('/developer/applications', { token: as(email), body: { name: 'New', ...body } });
const path = (client: TestClient, rest = '') => `/developer/applications/${client.applicationId}${rest}`;

describe('creating an application', () => {
  test('APP-01 CONV-12 SEC-04 the portal gives an application a test and a live key pair and shows the live secret once', async () => {
    const made = await create({ redirect_uris: ['https://partner.example/cb'], scopes: ['read:profile'] });
    expect(made.status).toBe(201);
    const { id, attributes } = made.body.data;
    expect(attributes).toMatchObject({
      client_type: 'confidential',
      status: 'active',
      review: 'none',
      clients: {
        test: {
          client_id: expect.stringMatching(/^pk_test_/),
          client_secret: expect.stringMatching(/^sk_test_/),
        },
        live: {
          client_id: expect.stringMatching(/^pk_live_/),
          client_secret: expect.stringMatching(/^sk_live_/),
        },
      },
    });
    const again = await world.get(`/developer/applications/${id}`, { token: as(developer) });
    expect(again.body.data.attributes.clients).toEqual({
      test: attributes.clients.test,
      live: { client_id: attributes.clients.live.client_id, client_secret: null },
    });
    const stored = one(
      world.services.state,
      'SELECT secret_digest, secret_plain FROM clients WHERE client_id = ?',
      [attributes.clients.live.client_id],
    );
    expect(stored).toEqual({
      secret_digest: digestOf(attributes.clients.live.client_secret),
      secret_plain: null,
    });
  });

  test('VERS-03 the portal pins a new application to the latest version', async () => {
    expect((await create({})).body.data.attributes.pinned_version).toBe('2026-10-15');
  });

  test('APP-02 the portal requires a redirect URI from a public client and not from a confidential one', async () => {
    const bare = await create({ client_type: 'public' });
    expect([bare.status, bare.body.error.type]).toEqual([422, 'validation_error']);
    expect((await create({ client_type: 'public', redirect_uris: ['http://127.0.0.1/cb'] })).status).toBe(
      201,
    );
    expect((await create({ client_type: 'confidential' })).status).toBe(201);
  });

  test.each([
    'http://partner.example/cb',
    'https://partner.example/cb#part',
    'https://me@partner.example/cb',
    'javascript:alert(1)',
    'data:text/html,x',
    '/callback',
    'https://partner.example/c b',
    'https://pärtner.example/cb',
  ])('the portal rejects the redirect address %s', async (uri) => {
    const answer = await create({ redirect_uris: ['https://partner.example/cb', uri] });
    expect(answer.status).toBe(422);
    expect(answer.body.error.details.errors[0].field).toBe('redirect_uris.1');
  });

  test('the portal registers a private-use scheme that is a reversed domain', async () => {
    expect((await create({ redirect_uris: ['com.partner.app:/cb'] })).status).toBe(201);
  });

  test('APP-02 SEC-16 the owner changes redirect addresses; a removed address serves no authorization that begins later', async () => {
    const client = makeClient(world, { confidential: false });
    const patch = (body: object) => world.patch(path(client), { token: as(developer), body });
    const changed = await patch({ name: 'Renamed', redirect_uris: ['https://partner.example/new'] });
    expect(changed.body.data.attributes).toMatchObject({
      name: 'Renamed',
      redirect_uris: ['https://partner.example/new'],
      setup_url: null,
    });
    expect((await world.get(authorizePath(client))).status).toBe(400);
    const moved = await world.get(authorizePath(client, { redirectUri: 'https://partner.example/new' }));
    expect(moved.status).toBe(200);
    expect((await patch({ redirect_uris: [] })).status).toBe(422);
    expect((await patch({ redirect_uris: ['http://partner.example/'] })).status).toBe(422);
    expect((await patch({})).body.data).toEqual(changed.body.data);
  });

  test('APP-12 the portal requires a role in the organization of the calling application', async () => {
    const answer = await world.get('/developer/applications', { token: as(ida) });
    expect([answer.status, answer.body.error.type]).toEqual([403, 'forbidden_role']);
    const stranger = makeClient(world, { organizationNo: makeOrganization(world, 'strangers') });
    const through = await world.get('/developer/applications', { token: as(owner, stranger) });
    expect(through.status).toBe(403);
    const foreign = await world.get(path(stranger), { token: as(owner) });
    expect([foreign.status, foreign.body.error.type]).toEqual([404, 'not_found']);
  });
});

test('OAUTH-26 APP-12 a publishable key and client credentials get insufficient_scope from the portal', async () => {
  const credentials = await world.post('/oauth/token', {
    body: form({
      grant_type: 'client_credentials',
      client_id: portal.clientId,
      client_secret: portal.secret,
    }),
  });
  for (const token of [portal.clientId, credentials.body.access_token]) {
    const { status, body } = await world.get('/developer/applications', { token });
    expect([status, body.error.type]).toEqual([403, 'insufficient_scope']);
    expect(body.error.remediation).toContain('Authorize a user');
  }
});

describe('reviewing an application', () => {
  const unreviewed = () => makeClient(world, { realm: 'live', approved: false });

  test('APP-03 before review, people who manage the organization can use a live key', async () => {
    const live = unreviewed();
    expect(await works(world, (await tokensFor(world, live, owner)).access_token)).toBe(true);
    expect(await works(world, (await tokensFor(world, live, developer)).access_token)).toBe(true);
  });

  test('APP-04 before review, anyone outside the organization sees the not-reviewed page and gets no code', async () => {
    const live = unreviewed();
    const visitor = new Visitor(world);
    const link = authorizePath(live);
    await visitor.signIn(link, ida);
    const page = await visitor.open(link);
    expect(page.status).toBe(403);
    expect(page.body).toContain('has not been reviewed yet');
    const forced = await visitor.answer(link, { action: 'approve' });
    expect(forced.status).toBe(403);
    expect(forced.headers.get('location')).toBeNull();
  });

  test('APP-04 the token endpoint refuses exchange and refresh with invalid_grant after the review is withdrawn', async () => {
    const live = makeClient(world, { realm: 'live' });
    const tokens = await tokensFor(world, live, ida);
    const code = await codeFor(world, live, ida);
    const decide = (approved: boolean) =>
      decideReview(world.services, applicationByNo(world.services.state, live.applicationNo), approved, 1);
    decide(false);
    expect((await exchange(world, live, code)).body.error).toBe('invalid_grant');
    expect((await refresh(world, live, tokens.refresh_token)).body.error).toBe('invalid_grant');
    decide(true);
    expect((await refresh(world, live, tokens.refresh_token)).status).toBe(200);
  });

  test('APP-05 a test key works without review', async () => {
    const testing = makeClient(world, { approved: false });
    expect((await tokensFor(world, testing, ida)).scope).toBe('read:profile');
  });

  test('the owner requests a review once, and an approved application needs none', async () => {
    const live = unreviewed();
    const ask = () => world.post(path(live, '/review'), { token: as(owner) });
    expect((await ask()).body.data.attributes.review).toBe('pending');
    expect((await ask()).status).toBe(200);
    decideReview(world.services, applicationByNo(world.services.state, live.applicationNo), false, 1);
    expect((await world.get(path(live), { token: as(owner) })).body.data.attributes.review).toBe('declined');
    decideReview(world.services, applicationByNo(world.services.state, live.applicationNo), true, 1);
    const late = await ask();
    expect([late.status, late.body.error.type]).toEqual([409, 'conflict']);
    expect((await world.post(path(live, '/review'), { token: as(developer) })).status).toBe(403);
  });
});

describe('editing the scopes of an application', () => {
  const add = (client: TestClient, scopes: readonly string[]) =>
    world.post(path(client, '/scopes'), { token: as(developer), body: { scopes } });
  const remove = (client: TestClient, scope: string) =>
    world.delete(path(client, `/scopes/${scope}`), { token: as(developer) });

  test('APP-06 APP-07 adding a scope applies to all keys and widens no existing grant', async () => {
    const client = makeClient(world, { scopes: ['read:profile', 'write:installations'] });
    const tokens = await tokensFor(world, client, ida);
    const token = userToken(world, client, ida);
    const company = makeCompany(world, { ida: ['founder'] });
    const installed = await world.post('/installations', {
      token,
      body: { target_type: 'company', target_id: company.id },
    });
    const added = await add(client, ['read:investments', 'read:offerings']);
    expect(added.status).toBe(200);
    expect(added.body.data.attributes.scopes).toEqual([
      'read:profile',
      'write:installations',
      'read:investments',
      'read:companies',
    ]);
    for (const held of [tokens.access_token, token, installed.body.token.access_token]) {
      const refused = await world.get('/investments', { token: held });
      expect([refused.status, refused.body.error.type]).toEqual([403, 'insufficient_scope']);
    }
    expect((await refresh(world, client, tokens.refresh_token)).body.scope).toBe('read:profile');
    const install = await world.get(`/installations/${installed.body.data.id}`, { token });
    expect(install.body.data.attributes.scopes).toEqual(['read:profile', 'write:installations']);
    expect((await tokensFor(world, client, ida, { scope: 'read:investments' })).scope).toBe(
      'read:investments',
    );
  });

  test.each([
    ['SCOPE-06', 'read:public'],
    ...[
      'write:investments',
      'read:contracts',
      'write:contracts',
      'read:perks',
      'write:perks',
      'read:tax_documents',
    ].map((scope) => ['SCOPE-22', scope] as const),
    ...['write:companies', 'write:offerings', 'read:files', 'write:files', 'read:investors:contacts'].map(
      (scope) => ['SCOPE-23', scope] as const,
    ),
    ...[
      'read:attribution:aggregate',
      'read:attribution:anonymized',
      'read:attribution:full',
      'write:attribution',
    ].map((scope) => ['SCOPE-24', scope] as const),
    ...['read:mcp', 'admin:read', 'admin:write', 'admin:attribution'].map(
      (scope) => ['SCOPE-26', scope] as const,
    ),
    ['ERR-23', 'read:nonsense'],
  ] as const)('APP-08 ERR-20 %s the portal refuses to tick %s', async (_, scope) => {
    const client = makeClient(world, { scopes: ['read:profile'] });
    const answer = await add(client, ['read:companies', scope]);
    expect([answer.status, answer.body.error.type]).toEqual([422, 'invalid_scopes']);
    const after = await world.get(path(client), { token: as(developer) });
    expect(after.body.data.attributes.scopes).toEqual(['read:profile']);
    const made = await create({ scopes: [scope] });
    expect([made.status, made.body.error.type]).toEqual([422, 'invalid_scopes']);
  });

  test('APP-08 ERR-20 ERR-23 a suspended or disabled application cannot add scopes', async () => {
    for (const status of ['suspended', 'disabled']) {
      const client = makeClient(world);
      run(world.services.state, 'UPDATE applications SET status = ? WHERE no = ?', [
        status,
        client.applicationNo,
      ]);
      const answer = await add(client, ['read:companies']);
      expect([answer.status, answer.body.error.type]).toEqual([409, 'scope_change_blocked']);
    }
  });

  test('APP-09 removing a scope narrows installs, revokes installs left empty and revokes every token that exceeds them', async () => {
    const client = makeClient(world, { scopes: ['read:profile', 'read:investments', 'write:installations'] });
    const token = userToken(world, client, ida);
    const place = async (scopes: readonly string[]) => {
      const { id } = makeCompany(world, { ida: ['founder'] });
      const body = { target_type: 'company', target_id: id, scopes };
      return (await world.post('/installations', { token, body })).body;
    };
    const wide = await place(['read:investments', 'read:profile']);
    const only = await place(['read:investments']);
    const narrow = (
      await world.post(`/installations/${wide.data.id}/tokens`, { token, body: { scopes: ['read:profile'] } })
    ).body;
    const beyond = await tokensFor(world, client, ida, { scope: 'read:profile read:investments' });
    const within = await tokensFor(world, client, ida, { scope: 'read:profile' });
    const shrunk = await refresh(world, client, beyond.refresh_token, { scope: 'read:profile' });
    const answer = await remove(client, 'read:investments');
    expect(answer.status).toBe(200);
    expect(answer.body.meta).toMatchObject({
      removed: ['read:investments'],
      still_implied: [],
      installations_revoked: 1,
    });
    const shown = async (id: string) =>
      (await world.get(`/installations/${id}`, { token })).body.data.attributes;
    expect(await shown(wide.data.id)).toMatchObject({ status: 'active', scopes: ['read:profile'] });
    expect((await shown(only.data.id)).status).toBe('revoked');
    expect(await works(world, wide.token.access_token)).toBe(false);
    expect(await works(world, only.token.access_token)).toBe(false);
    expect(await works(world, narrow.token.access_token)).toBe(true);
    expect(await works(world, beyond.access_token)).toBe(false);
    expect(await works(world, shrunk.body.access_token)).toBe(false);
    expect((await refresh(world, client, shrunk.body.refresh_token)).body.error).toBe('invalid_grant');
    expect(await works(world, within.access_token)).toBe(true);
    expect((await refresh(world, client, within.refresh_token)).status).toBe(200);
  });

  test('APP-10 the portal keeps a scope that another ticked scope implies, and reports it', async () => {
    const client = makeClient(world, { scopes: ['read:webhooks', 'write:webhooks', 'read:profile'] });
    const tokens = await tokensFor(world, client, ida, { scope: 'read:webhooks' });
    const implied = await remove(client, 'read:webhooks');
    expect(implied.body.meta).toMatchObject({
      removed: [],
      still_implied: ['read:webhooks'],
      tokens_revoked: 0,
    });
    expect(implied.body.data.attributes.scopes).toContain('read:webhooks');
    expect(await works(world, tokens.access_token)).toBe(true);
    expect((await remove(client, 'write:webhooks')).body.meta.removed).toEqual(['write:webhooks']);
    expect(await works(world, tokens.access_token)).toBe(true);
    expect((await remove(client, 'read:webhooks')).body.meta.removed).toEqual(['read:webhooks']);
    expect(await works(world, tokens.access_token)).toBe(false);
  });

  test('the portal removes a scope by its retired name and refuses an unknown name', async () => {
    const client = makeClient(world, { scopes: ['read:companies', 'read:profile'] });
    expect((await remove(client, 'read:offerings')).body.meta.removed).toEqual(['read:companies']);
    expect((await remove(client, 'read:nonsense')).status).toBe(422);
  });

  test('APP-09 EVT-06 an installation revoked for want of scopes is announced with an empty list of scopes', async () => {
    const client = makeClient(world, { scopes: ['read:investments', 'write:installations'] });
    const { id } = makeCompany(world, { ida: ['founder'] });
    const body = { target_type: 'company', target_id: id, scopes: ['read:investments'] };
    const made = await world.post('/installations', { token: userToken(world, client, ida), body });
    const announced: unknown[] = [];
    world.services.events.subscribe((event) =>
      announced.push([event.name, event.dataFor({ scopes: new Set(), kind: 'company' })]),
    );
    await remove(client, 'read:investments');
    expect(announced).toEqual([
      ['installation.revoked', expect.objectContaining({ id: made.body.data.id, scopes: [] })],
    ]);
  });

  test('APP-09 removing a referral scope revokes application tokens that hold it', async () => {
    const client = makeClient(world, { scopes: ['write:referral_codes'] });
    const { body } = await world.post('/oauth/token', {
      body: form({
        grant_type: 'client_credentials',
        client_id: client.clientId,
        client_secret: client.secret,
        scope: 'read:referral_codes',
      }),
    });
    expect(await works(world, body.access_token)).toBe(true);
    await remove(client, 'write:referral_codes');
    expect(await works(world, body.access_token)).toBe(false);
  });
});

describe('disabling, suspending and deleting an application', () => {
  test('APP-11 disabling an application revokes every token and stops new ones', async () => {
    const client = makeClient(world);
    const tokens = await tokensFor(world, client, ida);
    const disabled = await world.post(path(client, '/disable'), { token: as(owner) });
    expect(disabled.body.data.attributes.status).toBe('disabled');
    expect(await works(world, tokens.access_token)).toBe(false);
    const next = await refresh(world, client, tokens.refresh_token);
    expect([next.status, next.body.error]).toEqual([401, 'invalid_client']);
    expect((await world.get(authorizePath(client))).status).toBe(400);
    expect((await world.get('/installations', { token: client.clientId })).status).toBe(403);
    const alive = 'SELECT count(*) AS n FROM access_tokens WHERE application_no = ? AND revoked_at IS NULL';
    expect(one(world.services.state, alive, [client.applicationNo])).toEqual({ n: 0 });
  });

  test('APP-11 the portal refuses to delete an application that was approved, installed or given a live token', async () => {
    const approved = makeClient(world);
    run(world.services.state, 'UPDATE applications SET approved_at = 1 WHERE no = ?', [
      approved.applicationNo,
    ]);
    const live = makeClient(world, { approved: false });
    const { applicationNo } = live;
    mintToken(
      world.services,
      { kind: 'application', realm: 'live', applicationNo, scopes: ['read:public'] },
      1,
    );
    const installed = makeClient(world, { approved: false });
    const company = makeCompany(world, { ida: ['founder'] });
    await world.post('/installations', {
      token: userToken(world, installed, ida),
      body: { target_type: 'company', target_id: company.id },
    });
    for (const client of [approved, live, installed]) {
      const answer = await world.delete(path(client), { token: as(owner) });
      expect([answer.status, answer.body.error.type]).toEqual([409, 'conflict']);
    }
  });

  test('APP-11 an application whose approval was taken back cannot be deleted, also after another review', async () => {
    for (const seeded of [true, false]) {
      const client = makeClient(world, { approved: seeded });
      const patch = (approved: boolean) =>
        world.control('PATCH', `/applications/${client.clientId}`, { approved });
      if (!seeded) await patch(true);
      await patch(false);
      expect((await world.delete(path(client), { token: as(owner) })).status).toBe(409);
      expect((await world.post(path(client, '/review'), { token: as(owner) })).status).toBe(200);
      await patch(false);
      expect((await world.delete(path(client), { token: as(owner) })).status).toBe(409);
    }
  });

  test('the portal deletes an unused application together with its keys', async () => {
    const client = makeClient(world, { approved: false });
    expect((await world.delete(path(client), { token: as(developer) })).status).toBe(403);
    const answer = await world.delete(path(client), { token: as(owner) });
    expect(answer.body).toEqual({ data: { id: client.applicationId, type: 'application', removed: true } });
    expect((await world.get(path(client), { token: as(owner) })).status).toBe(404);
    expect((await world.get('/installations', { token: client.clientId })).status).toBe(401);
  });

  test('a suspended application gets no new tokens, and works again after the suspension', async () => {
    const client = makeClient(world);
    const tokens = await tokensFor(world, client, ida);
    const set = (suspended: boolean) =>
      suspend(world.services, applicationByNo(world.services.state, client.applicationNo), suspended);
    set(true);
    const page = await world.get(authorizePath(client));
    expect([page.status, page.headers.get('location')]).toEqual([400, null]);
    const answer = await refresh(world, client, tokens.refresh_token);
    expect([answer.status, answer.body.error]).toEqual([400, 'unauthorized_client']);
    expect(await works(world, tokens.access_token)).toBe(true);
    set(false);
    expect((await refresh(world, client, tokens.refresh_token)).status).toBe(200);
  });

  test('a disabled application can be neither suspended nor made active again', async () => {
    const client = makeClient(world);
    const patch = (body: object) => world.control('PATCH', `/applications/${client.clientId}`, body);
    await world.post(path(client, '/disable'), { token: as(owner) });
    for (const suspended of [true, false]) {
      const refused = await patch({ suspended });
      expect([refused.status, refused.body.error?.type]).toEqual([409, 'conflict']);
    }
    expect(applicationByNo(world.services.state, client.applicationNo).status).toBe('disabled');
  });

  test('the platform can take back that an application may see identity', async () => {
    const client = makeClient(world);
    const patch = (body: object) => world.control('PATCH', `/applications/${client.clientId}`, body);
    expect((await patch({ piiApproved: true })).body.piiApproved).toBe(true);
    expect((await patch({ piiApproved: false })).body.piiApproved).toBe(false);
    expect(
      one(world.services.state, 'SELECT 1 FROM applications WHERE no = ? AND pii_approved = 1', [
        client.applicationNo,
      ]),
    ).toBeUndefined();
  });
});

test('the sandbox control API decides the review of an application', async () => {
  const client = makeClient(world, { approved: false });
  const patch = (body: object, id = client.clientId) => world.control('PATCH', `/applications/${id}`, body);
  const decided = await patch({ approved: true, piiApproved: true });
  expect(decided.body).toEqual({
    id: client.applicationId,
    status: 'active',
    approved: true,
    piiApproved: true,
    scopes: ['read:profile', 'read:investments', 'write:webhooks', 'write:installations'],
    setupUrl: null,
  });
  expect((await patch({ suspended: true }, client.applicationId)).body.status).toBe('suspended');
  expect((await world.get(authorizePath(client))).status).toBe(400);
  expect((await patch({ suspended: false, approved: false })).body).toMatchObject({
    status: 'active',
    approved: false,
  });
  expect((await patch({ approved: true }, 'app_unknown')).status).toBe(404);
  expect((await patch({ aproved: true })).status).toBe(400);
});

test('a connection grants identity by the same rule as an install', async () => {
  const client = makeClient(world, { scopes: ['read:investments', 'read:investors:pii'] });
  const scope = 'read:investments read:investors:pii';
  expect((await tokensFor(world, client, ida, { scope })).scope).toBe('read:investments');
  expect((await tokensFor(world, client, owner, { scope })).scope).toBe(scope);
  const visitor = new Visitor(world);
  const alone = authorizePath(client, { scope: 'read:investors:pii', state: 's' });
  await visitor.signIn(alone, ida);
  expect(location(await visitor.open(alone)).searchParams.get('error')).toBe('invalid_scope');
  approveIdentity(world.services, applicationByNo(world.services.state, client.applicationNo), true);
  expect((await tokensFor(world, client, ida, { scope })).scope).toBe(scope);
});
