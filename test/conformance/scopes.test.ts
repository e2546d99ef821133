import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  declaredScopes,
  programScopes,
  reservedScopes,
  selfServeScopes,
  universalScope,
} from '../../src/platform/contract/scopes.js';
import { expandScopes } from '../../src/platform/http/scopes.js';
import { mintToken } from '../../src/platform/oauth/mint.js';
import { run } from '../../src/platform/state/statements.js';
import {
  authorizePath,
  form,
  location,
  makeClient,
  makeCompany,
  tokensFor,
  userNo,
  userToken,
} from './credentials.js';
import { type RunningPlatform, startPlatform } from './running-platform.js';

let world: RunningPlatform;
const ida = 'ida@people.example';

beforeAll(async () => {
  world = await startPlatform({ limits: false });
});
afterAll(() => world.close());

const brought = (scope: string) => [...expandScopes([scope])].filter((other) => other !== scope).sort();

test('SCOPE-01 every scope has the form action:resource, and a grant lists its scopes separated by spaces', async () => {
  const all = [universalScope, ...selfServeScopes, ...declaredScopes, ...programScopes, ...reservedScopes];
  for (const scope of all) expect(scope).toMatch(/^(read|write|admin)(:[a-z_]+)+$/);
  const client = makeClient(world);
  const { scope } = await tokensFor(world, client, ida, { scope: 'read:investments  read:profile' });
  expect(scope).toBe('read:investments read:profile');
});

test('SCOPE-02 each write scope includes its read scope', () => {
  for (const scope of [...selfServeScopes, ...programScopes, ...declaredScopes]) {
    if (!scope.startsWith('write:')) continue;
    const read = scope.replace('write:', 'read:');
    const exists = ([...selfServeScopes, ...programScopes, ...declaredScopes] as string[]).includes(read);
    if (exists) expect(expandScopes([scope]), scope).toContain(read);
  }
});

test('SCOPE-04 SCOPE-21 write:comments includes nothing, and write:syndicates includes write:syndicate_members', () => {
  expect(brought('write:comments')).toEqual([]);
  expect(brought('write:syndicates')).toEqual(['read:syndicates', 'write:syndicate_members']);
});

test('SCOPE-05 SCOPE-10 write:follows and read:profile include the follows list', () => {
  expect(brought('write:follows')).toEqual(['read:profile:follows']);
  expect(brought('read:profile')).toEqual(['read:profile:follows']);
});

test('SCOPE-03 full attribution includes both narrower views', () => {
  expect(brought('read:attribution:full')).toEqual([
    'read:attribution:aggregate',
    'read:attribution:anonymized',
  ]);
});

test('SCOPE-15 write:installations grants installing and reading, read:installations only reading', async () => {
  const client = makeClient(world);
  const token = userToken(world, client, ida, ['write:installations']);
  expect((await world.get('/installations', { token })).status).toBe(200);
  const reader = userToken(world, client, ida, ['read:installations']);
  expect((await world.get('/installations', { token: reader })).status).toBe(200);
  const company = makeCompany(world, { ida: ['founder'] });
  const body = { target_type: 'company', target_id: company.id };
  expect((await world.post('/installations', { token: reader, body })).status).toBe(403);
  expect((await world.post('/installations', { token, body })).status).toBe(201);
  const foreign = { ...body, target_id: makeCompany(world, { ivan: ['founder'] }).id };
  expect((await world.post('/installations', { token, body: foreign })).status).toBe(404);
});

test('SCOPE-06 every application holds read:public without ticking it and can request it', async () => {
  const client = makeClient(world, { scopes: ['read:profile'] });
  expect((await tokensFor(world, client, ida, { scope: 'read:public' })).scope).toBe('read:public');
});

test('SCOPE-25 a retired scope name is accepted and granted under its current name', async () => {
  const client = makeClient(world, { scopes: ['read:companies', 'read:profile'] });
  const asked = { scope: 'read:offerings read:follows read:companies' };
  expect((await tokensFor(world, client, ida, asked)).scope).toBe('read:companies read:profile:follows');
  const refused = await world.get(authorizePath(client, { scope: 'write:offerings' }));
  expect(location(refused).searchParams.get('error')).toBe('invalid_scope');
});

test('SCOPE-02 an application may request a narrower scope that a ticked one implies', async () => {
  const client = makeClient(world, { scopes: ['write:webhooks'] });
  expect((await tokensFor(world, client, ida, { scope: 'read:webhooks' })).scope).toBe('read:webhooks');
});

test.each([...reservedScopes])('SCOPE-26 SEC-15 no grant and no install holds %s', async (scope) => {
  const client = makeClient(world, { scopes: ['read:profile', 'write:installations'] });
  // Even if the database marks the scope as ticked.
  run(world.services.state, 'UPDATE applications SET scopes = ? WHERE no = ?', [
    JSON.stringify(['read:profile', 'write:installations', scope]),
    client.applicationNo,
  ]);
  const authorize = await world.get(authorizePath(client, { scope: `read:profile ${scope}` }));
  expect(location(authorize).searchParams.get('error')).toBe('invalid_scope');
  const credentials = await world.post('/oauth/token', {
    body: form({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.secret,
      scope,
    }),
  });
  expect(credentials.body.error).toBe('invalid_scope');
  const company = makeCompany(world, { ida: ['founder'] });
  const body = { target_type: 'company', target_id: company.id };
  const installed = await world.post('/installations', { token: userToken(world, client, ida), body });
  expect(installed.body.data.attributes.scopes).toEqual(['read:profile', 'write:installations']);
  const discovery = await world.get('/.well-known/oauth-authorization-server');
  expect(discovery.body.scopes_supported).not.toContain(scope);
});

test('SCOPE-23 an application can request a program scope that the platform assigned to it', async () => {
  const client = makeClient(world, { scopes: ['read:profile'] });
  const asked = { scope: 'read:files' };
  expect(location(await world.get(authorizePath(client, asked))).searchParams.get('error')).toBe(
    'invalid_scope',
  );
  run(world.services.state, 'UPDATE applications SET scopes = ? WHERE no = ?', [
    '["read:profile","read:files"]',
    client.applicationNo,
  ]);
  expect((await tokensFor(world, client, ida, asked)).scope).toBe('read:files');
});

test('SCOPE-14 a person cannot grant application-only scopes', async () => {
  const client = makeClient(world, { scopes: ['write:referral_codes', 'read:profile'] });
  const both = await tokensFor(world, client, ida, { scope: 'read:profile read:referral_codes' });
  expect(both.scope).toBe('read:profile');
  const alone = await world.get(authorizePath(client, { scope: 'write:referral_codes' }));
  expect(location(alone).searchParams.get('error')).toBe('invalid_scope');
});

test('OAUTH-17 OAUTH-30 a syndicate key never expires', async () => {
  const { services } = world;
  const client = makeClient(world);
  const syndicateNo = run(
    services.state,
    `INSERT INTO syndicates (id, name, slug, created_by_no, created_at) VALUES ('syn_key', 'Keys', 'keys', ?, 0)`,
    [userNo(world, ida)],
  ).no;
  const { applicationNo, realm } = client;
  const scopes = ['read:syndicates'];
  const key = mintToken(
    services,
    { kind: 'syndicate_key', realm, applicationNo, syndicateNo, scopes },
    services.clock.now(),
  );
  expect(key.expiresAt).toBeNull();
  world.clock.advance(10 * 365 * 86_400_000);
  const answer = await world.get('/installations', { token: key.token });
  expect([answer.status, answer.body.error.type]).toEqual([403, 'insufficient_scope']);
  world.clock.advance(-10 * 365 * 86_400_000);
});
