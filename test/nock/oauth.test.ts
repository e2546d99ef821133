import nock from 'nock';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  authorizeLink,
  codeFromRedirect,
  exchangeCode,
  newChallenge,
  refreshTokens,
  revokeTokens,
  s256,
} from '../../src/client/oauth.js';
import { seededRandom } from '../../src/runtime/random.js';
import { api, host, signal } from './nocked-api.js';

const confidential = { clientId: 'pk_test_1', clientSecret: 'sk_test_1' };
const tokens = {
  access_token: 'at_test_1',
  token_type: 'Bearer',
  expires_in: 7200,
  refresh_token: 'rt_test_1',
  scope: 'read:investments',
  created_at: 1792500000,
};

beforeEach(() => nock.disableNetConnect());
afterEach(() => {
  nock.cleanAll();
  nock.enableNetConnect();
});

/** Replies once and keeps the form it received. */
function tokenEndpoint(status: number, body: nock.Body, path = '/oauth/token') {
  const seen: { form?: Record<string, string>; contentType?: string | undefined } = {};
  nock(host)
    .post(path)
    .reply(async (request: Request) => {
      seen.form = Object.fromEntries(new URLSearchParams(await request.text()));
      seen.contentType = String(request.headers.get('content-type'));
      return [status, body];
    });
  return seen;
}

describe('the authorization request', () => {
  test('the client computes the challenge of RFC 7636 appendix B', () => {
    expect(s256('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')).toBe(
      'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    );
  });

  test('CLIENT-20 the client makes a new verifier, challenge and state for each request', () => {
    const random = seededRandom(7);
    const made = Array.from({ length: 50 }, () => newChallenge(random));
    for (const { verifier, challenge } of made) {
      expect(verifier).toMatch(/^[A-Za-z0-9._~-]{43,128}$/);
      expect(challenge).toBe(s256(verifier));
    }
    expect(new Set(made.flatMap(({ state, verifier }) => [state, verifier])).size).toBe(100);
  });

  test('the authorization link has every parameter of the authorize step, but not the verifier', () => {
    const challenge = newChallenge(seededRandom(1));
    const link = new URL(
      authorizeLink({
        authorizeUrl: 'https://consent.test/oauth/authorize?theme=dark',
        clientId: 'pk_test_1',
        redirectUri: 'http://127.0.0.1:5/callback',
        scopes: ['read:profile', 'write:installations'],
        challenge,
      }),
    );
    expect(Object.fromEntries(link.searchParams)).toEqual({
      theme: 'dark',
      response_type: 'code',
      client_id: 'pk_test_1',
      redirect_uri: 'http://127.0.0.1:5/callback',
      scope: 'read:profile write:installations',
      state: challenge.state,
      code_challenge: challenge.challenge,
      code_challenge_method: 'S256',
    });
  });
});

test('the authorization link of a client that asks for no scope leaves the choice to the platform', () => {
  const link = authorizeLink({
    authorizeUrl: 'https://consent.test/oauth/authorize',
    clientId: 'pk_test_1',
    redirectUri: 'http://127.0.0.1:5/callback',
    scopes: [],
    challenge: newChallenge(seededRandom(1)),
  });
  expect(new URL(link).searchParams.has('scope')).toBe(false);
});

describe('the redirect back', () => {
  const challenge = newChallenge(seededRandom(1));
  const back = (query: Record<string, string>) => () =>
    codeFromRedirect(new URLSearchParams(query), challenge);

  test('CLIENT-20 the client returns the code of a redirect with its own state', () => {
    expect(back({ code: 'abc', state: challenge.state })()).toBe('abc');
  });

  test.each([[{}], [{ state: '' }], [{ state: 'x' }], [{ state: challenge.state.replace(/.$/, '!') }]])(
    'CLIENT-20 the client refuses a redirect with a foreign state: %j',
    (query) => {
      expect(back({ code: 'abc', ...query })).toThrow('a foreign `state`');
    },
  );

  test('the client reports a denial by its type and does not repeat foreign text', () => {
    expect(back({ error: 'access_denied', state: challenge.state })).toThrow('access_denied');
    expect(back({ error: 'invalid_scope', state: challenge.state })).toThrow(
      expect.objectContaining({
        about: expect.objectContaining({ hint: expect.stringContaining('developer portal') }),
      }),
    );
    expect(back({ error: '<b>Call 555', state: challenge.state })).not.toThrow('555');
    expect(back({ error: '<b>Call 555', state: challenge.state })).toThrow('an unknown error');
  });

  test('a redirect without a code is contract_broken', () => {
    expect(back({ state: challenge.state })).toThrow('without a code');
  });
});

describe("the client's token endpoint", () => {
  test('the client exchanges a code with its verifier, form-encoded', async () => {
    const seen = tokenEndpoint(200, tokens);
    const exchange = { code: 'c+1', redirectUri: 'http://127.0.0.1:5/cb', verifier: 'v' };
    expect(await exchangeCode(api, confidential, exchange, signal)).toEqual({
      accessToken: 'at_test_1',
      refreshToken: 'rt_test_1',
      expiresInSeconds: 7200,
      scope: 'read:investments',
    });
    expect(seen).toEqual({
      contentType: 'application/x-www-form-urlencoded',
      form: {
        grant_type: 'authorization_code',
        code: 'c+1',
        redirect_uri: 'http://127.0.0.1:5/cb',
        client_id: 'pk_test_1',
        client_secret: 'sk_test_1',
        code_verifier: 'v',
      },
    });
  });

  test('OAUTH-11 a public client refreshes without a secret', async () => {
    const seen = tokenEndpoint(200, tokens);
    await refreshTokens(api, { clientId: 'pk_test_2', clientSecret: null }, 'rt_0', signal);
    expect(seen.form).toEqual({ grant_type: 'refresh_token', refresh_token: 'rt_0', client_id: 'pk_test_2' });
  });

  test('OAUTH-14 a missing expiry means never, and a missing refresh token means the old one stays valid', async () => {
    tokenEndpoint(200, { access_token: tokens.access_token });
    expect(await refreshTokens(api, confidential, 'rt_0', signal)).toEqual({
      accessToken: 'at_test_1',
      refreshToken: null,
      expiresInSeconds: null,
      scope: '',
    });
  });

  test('a lifetime beyond ten years is one of ten years', async () => {
    tokenEndpoint(200, { ...tokens, expires_in: 1e300 });
    expect((await refreshTokens(api, confidential, 'rt_0', signal)).expiresInSeconds).toBe(315_360_000);
  });

  test('OAUTH-20 CLIENT-12 the client reports invalid_grant, in the flat form or in the envelope, as reauthorize', async () => {
    for (const body of [{ error: 'invalid_grant' }, { error: { type: 'invalid_grant', message: 'No.' } }]) {
      tokenEndpoint(400, body);
      await expect(refreshTokens(api, confidential, 'rt_0', signal)).rejects.toMatchObject({
        code: 'reauthorize',
      });
    }
  });

  test.each([
    ['no access token', { ...tokens, access_token: undefined }],
    ['a token with a line break', { ...tokens, access_token: 'at\r\nx' }],
    ['a numeric refresh token', { ...tokens, refresh_token: 7 }],
    ['a lifetime in words', { ...tokens, expires_in: 'long' }],
    ['a lifetime as text', { ...tokens, expires_in: '7200' }],
    ['no lifetime at all', { ...tokens, expires_in: 0 }],
    ['nothing but null', 'null'],
  ])('a token response with %s is contract_broken', async (_, body) => {
    tokenEndpoint(200, body);
    await expect(refreshTokens(api, confidential, 'rt_0', signal)).rejects.toMatchObject({
      code: 'contract_broken',
    });
  });
});

test.each(['', '{}', 'OK'])(
  'the client takes 200 for a revoked token, whatever the body: %j',
  async (body) => {
    const seen = tokenEndpoint(200, body, '/oauth/revoke');
    await revokeTokens(api, confidential, 'at_1', signal);
    expect(seen.form).toEqual({ token: 'at_1', client_id: 'pk_test_1', client_secret: 'sk_test_1' });
  },
);

test('the client reports a token that the platform did not revoke', async () => {
  tokenEndpoint(503, '', '/oauth/revoke');
  await expect(revokeTokens(api, confidential, 'at_1', signal)).rejects.toMatchObject({
    code: 'platform_error',
  });
});
