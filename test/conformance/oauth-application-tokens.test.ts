import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../../src/platform/state/statements.js';
import { authorizePath, form, makeClient, type TestClient, works } from './credentials.js';
import { startPlatform } from './running-platform.js';

const minute = 60_000;
const day = 24 * 60 * minute;

const world = await startPlatform();
let client: TestClient;

afterAll(() => world.close());
beforeEach(() => {
  client = makeClient(world);
});

describe('the client credentials grant', () => {
  const ask = (asked: TestClient, scope?: string) =>
    world.post('/oauth/token', {
      body: form({
        grant_type: 'client_credentials',
        client_id: asked.clientId,
        client_secret: asked.secret,
        scope,
      }),
    });

  test('OAUTH-12 OAUTH-15 OAUTH-30 client credentials return a one-day token without a user or a refresh token', async () => {
    const answer = await ask(client);
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^at_test_/),
      token_type: 'Bearer',
      expires_in: 86_400,
      scope: 'read:public',
      created_at: expect.any(Number),
    });
    world.clock.advance(day - 1);
    expect(await works(world, answer.body.access_token)).toBe(true);
    world.clock.advance(1);
    expect(await works(world, answer.body.access_token)).toBe(false);
  });

  test('OAUTH-22 SCOPE-14 client credentials include referral code scopes only if they are ticked', async () => {
    const ticked = makeClient(world, { scopes: ['write:referral_codes'] });
    const both = await ask(ticked, 'read:public write:referral_codes read:referral_codes');
    expect(both.body.scope).toBe('read:public write:referral_codes read:referral_codes');
    expect((await ask(ticked)).body.scope).toBe('read:public');
    expect((await ask(client, 'read:referral_codes')).body.error).toBe('invalid_scope');
  });

  test.each(['read:explore', 'read:profile', 'read:investments', 'admin:read', 'read:public read:explore'])(
    'OAUTH-23 client credentials that request %s fail',
    async (scope) => {
      const everything = makeClient(world, { scopes: ['read:explore', 'read:profile', 'read:investments'] });
      const answer = await ask(everything, scope);
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_scope']);
    },
  );

  test('a public client cannot use client credentials', async () => {
    const answer = await ask(makeClient(world, { confidential: false }));
    expect([answer.status, answer.body.error]).toEqual([400, 'unauthorized_client']);
  });

  test('OAUTH-26 a client credentials token gets insufficient_scope on a user operation', async () => {
    const { body } = await ask(client);
    const answer = await world.get('/installations', { token: body.access_token });
    expect([answer.status, answer.body.error.type]).toEqual([403, 'insufficient_scope']);
  });
});

describe('publishable keys', () => {
  test('OAUTH-25 OAUTH-26 a client id as bearer has read:public and nothing else', async () => {
    const answer = await world.get('/installations', { token: client.clientId });
    expect([answer.status, answer.body.error.type]).toEqual([403, 'insufficient_scope']);
    expect(answer.body.error.details.required).toEqual(['read:installations']);
  });

  test('OAUTH-27 OAUTH-28 a key of the other realm is refused as unknown', async () => {
    const wrongMode = client.clientId.replace('pk_test_', 'pk_live_');
    expect((await world.get('/installations', { token: wrongMode })).status).toBe(401);
    expect((await world.get(authorizePath({ ...client, clientId: wrongMode, realm: 'live' }))).status).toBe(
      400,
    );
  });

  test('OAUTH-28 OAUTH-29 OAUTH-30 an unknown or archived key returns 401, a key of a disabled application 403', async () => {
    const status = async () => (await world.get('/installations', { token: client.clientId })).status;
    expect((await world.get('/installations', { token: 'pk_test_unknown' })).status).toBe(401);
    const { state } = world.services;
    const at = 'UPDATE clients SET archived_at = ? WHERE client_id = ?';
    run(state, at, [1, client.clientId]);
    expect(await status()).toBe(401);
    run(state, at, [null, client.clientId]);
    run(state, `UPDATE applications SET status = 'disabled' WHERE no = ?`, [client.applicationNo]);
    const disabled = await world.get('/installations', { token: client.clientId });
    expect([disabled.status, disabled.body.error.type]).toEqual([403, 'forbidden']);
    run(state, `UPDATE applications SET status = 'deleted' WHERE no = ?`, [client.applicationNo]);
    expect(await status()).toBe(401);
  });
});
