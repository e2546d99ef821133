import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../../src/platform/state/statements.js';
import {
  codeFor,
  exchange,
  form,
  makeClient,
  refresh,
  type TestClient,
  tokensFor,
  works,
} from './credentials.js';
import { startPlatform } from './running-platform.js';

const ida = 'ida@people.example';
const minute = 60_000;

const world = await startPlatform();
let client: TestClient;

afterAll(() => world.close());
beforeEach(() => {
  client = makeClient(world);
});

describe('the token endpoint', () => {
  test('SCOPE-01 a token response lists its scopes with spaces, each as an action and a resource', async () => {
    const scope = 'read:profile read:investments';
    const { body } = await exchange(world, client, await codeFor(world, client, ida, { scope }));
    expect(body.scope).toBe(scope);
    for (const one of body.scope.split(' ')) expect(one).toMatch(/^(read|write):[a-z_:]+$/);
  });

  test('OAUTH-10 OAUTH-14 OAUTH-16 the token endpoint exchanges a code for a token response', async () => {
    const answer = await exchange(
      world,
      client,
      await codeFor(world, client, ida, { scope: 'read:profile read:investments' }),
    );
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^at_test_/),
      token_type: 'Bearer',
      expires_in: 7200,
      refresh_token: expect.stringMatching(/^rt_test_/),
      scope: 'read:profile read:investments',
      created_at: Math.floor(world.services.clock.now() / 1000),
    });
  });

  test('OAUTH-01 OAUTH-16 an access token works as a bearer and expires after two hours, to the millisecond', async () => {
    const { access_token } = await tokensFor(world, client, ida);
    world.clock.advance(2 * 60 * minute - 1);
    expect(await works(world, access_token)).toBe(true);
    world.clock.advance(1);
    const late = await world.get('/installations', { token: access_token });
    expect(late.status).toBe(401);
    expect(late.body.error.type).toBe('unauthorized');
  });

  test('OAUTH-09 the token endpoint accepts only form-encoded bodies and no repeated parameter', async () => {
    const json = await world.post('/oauth/token', {
      body: { grant_type: 'client_credentials', client_id: client.clientId, client_secret: client.secret },
    });
    expect([json.status, json.body.error]).toEqual([400, 'invalid_request']);
    const twice = await world.post('/oauth/token', {
      body: new URLSearchParams(
        `grant_type=client_credentials&client_id=${client.clientId}&client_id=${client.clientId}`,
      ),
    });
    expect([twice.status, twice.body.error]).toEqual([400, 'invalid_request']);
    expect(Object.keys(twice.body).sort()).toEqual(['error', 'error_description', 'error_uri']);
  });

  test('an unknown grant type returns unsupported_grant_type, including names of JavaScript object properties', async () => {
    for (const grant_type of ['password', 'toString', '__proto__']) {
      const answer = await world.post('/oauth/token', {
        body: form({ grant_type, client_id: client.clientId, client_secret: client.secret }),
      });
      expect([answer.status, answer.body.error]).toEqual([400, 'unsupported_grant_type']);
    }
  });

  test('OAUTH-13 a confidential client must send its secret, and a public client need not', async () => {
    const code = await codeFor(world, client, ida);
    for (const client_secret of [undefined, 'sk_test_wrong', '']) {
      const answer = await exchange(world, client, code, { client_secret });
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
    }
    expect((await exchange(world, client, code)).status).toBe(200);
    const open = makeClient(world, { confidential: false });
    const tokens = await tokensFor(world, open, ida);
    const next = await refresh(world, open, tokens.refresh_token);
    expect(next.status).toBe(200);
    const wrong = await refresh(world, open, next.body.refresh_token, { client_secret: 'sk_test_wrong' });
    expect([wrong.status, wrong.body.error]).toEqual([401, 'invalid_client']);
  });

  test('OAUTH-24 CONV-12 CONV-14 the prefix of the client id determines the realm of its tokens', async () => {
    const live = makeClient(world, { realm: 'live' });
    expect(live.clientId).toMatch(/^pk_live_/);
    expect(live.secret).toMatch(/^sk_live_/);
    const tokens = await tokensFor(world, live, ida);
    expect(tokens.access_token).toMatch(/^at_live_/);
    expect(tokens.refresh_token).toMatch(/^rt_live_/);
  });

  test('OAUTH-08 SEC-17 ERR-20 a code expires after 60 seconds and works once', async () => {
    const late = await codeFor(world, client, ida);
    world.clock.advance(minute);
    expect((await exchange(world, client, late)).body.error).toBe('invalid_grant');
    const timely = await codeFor(world, client, ida);
    world.clock.advance(minute - 1);
    expect((await exchange(world, client, timely)).status).toBe(200);
    expect((await exchange(world, client, timely)).body.error).toBe('invalid_grant');
  });

  test('SEC-17 reusing a code revokes the tokens it issued, even long after it expired', async () => {
    const code = await codeFor(world, client, ida);
    const { body } = await exchange(world, client, code);
    expect(await works(world, body.access_token)).toBe(true);
    world.clock.advance(60 * minute);
    expect((await exchange(world, client, code)).body.error).toBe('invalid_grant');
    expect(await works(world, body.access_token)).toBe(false);
    expect((await refresh(world, client, body.refresh_token)).body.error).toBe('invalid_grant');
  });

  test.each([
    ['no verifier', { code_verifier: undefined }, 'invalid_request'],
    ['another verifier', { code_verifier: 'x'.repeat(43) }, 'invalid_grant'],
    ['a verifier that is too short', { code_verifier: 'short' }, 'invalid_grant'],
    [
      'the challenge as verifier',
      { code_verifier: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM' },
      'invalid_grant',
    ],
    ['another redirect address', { redirect_uri: 'https://partner.example/other' }, 'invalid_grant'],
    [
      'a redirect address one byte longer',
      { redirect_uri: 'https://partner.example/callback/' },
      'invalid_grant',
    ],
    ['no redirect address', { redirect_uri: undefined }, 'invalid_request'],
    ['no code', { code: undefined }, 'invalid_request'],
    ['an unknown code', { code: `ac_test_${'0'.repeat(40)}` }, 'invalid_grant'],
  ])(
    'OAUTH-10 SEC-17 ERR-23 the token endpoint refuses an exchange with %s',
    async (_name, changed, error) => {
      const code = await codeFor(world, client, ida);
      const answer = await exchange(world, client, code, changed);
      expect([answer.status, answer.body.error]).toEqual([400, error]);
      expect(answer.body.access_token).toBeUndefined();
      // The failed attempts of others must not invalidate the code of the rightful client.
      expect((await exchange(world, client, code)).status).toBe(200);
    },
  );

  test('SEC-17 the token endpoint refuses a code of another client', async () => {
    const other = makeClient(world);
    const code = await codeFor(world, client, ida);
    const stolen = await exchange(world, other, code);
    expect([stolen.status, stolen.body.error]).toEqual([400, 'invalid_grant']);
    const withId = await exchange(world, other, code, { client_id: client.clientId });
    expect(withId.body.error).toBe('invalid_client');
  });

  test('SEC-17 a code for a loopback address is bound to the exact port of the request', async () => {
    const native = makeClient(world, { confidential: false, redirectUris: ['http://127.0.0.1:8790/cb'] });
    const asked = 'http://127.0.0.1:51234/cb';
    const code = await codeFor(world, native, ida, { redirectUri: asked });
    expect((await exchange(world, native, code)).body.error).toBe('invalid_grant');
    expect((await exchange(world, native, code, { redirect_uri: asked })).status).toBe(200);
  });

  test('a deactivated person gets no token from a code or a refresh', async () => {
    const ivan = 'ivan@people.example';
    const code = await codeFor(world, client, ivan);
    const tokens = await tokensFor(world, client, ivan);
    const set = 'UPDATE users SET deactivated_at = ? WHERE email = ?';
    run(world.services.state, set, [1, ivan]);
    expect((await exchange(world, client, code)).body.error).toBe('invalid_grant');
    expect((await refresh(world, client, tokens.refresh_token)).body.error).toBe('invalid_grant');
    run(world.services.state, set, [null, ivan]);
  });
});
