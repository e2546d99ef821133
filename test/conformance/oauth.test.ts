import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { defined } from '../../src/domain/defined.js';
import { one, run } from '../../src/platform/state/statements.js';
import { type LogFields, silentLogger } from '../../src/runtime/logger.js';
import {
  approve,
  authorizePath,
  codeFor,
  exchange,
  form,
  location,
  makeClient,
  refresh,
  type TestClient,
  tokensFor,
  userToken,
  Visitor,
  works,
} from './credentials.js';
import { type RunningPlatform, startPlatform } from './running-platform.js';

let world: RunningPlatform;
let client: TestClient;
const ida = 'ida@people.example';
const minute = 60_000;
const day = 24 * 60 * minute;

beforeAll(async () => {
  world = await startPlatform({ limits: false });
});
afterAll(() => world.close());
beforeEach(() => {
  client = makeClient(world);
});

describe('the authorize page', () => {
  test('OAUTH-02 the authorize step reads every one of its parameters', async () => {
    const complete = authorizePath(client, { scope: 'read:profile read:investments', state: 'kept' });
    const page = await world.get(complete);
    expect(page.status).toBe(200);
    const without = async (name: string) => {
      const [path, query] = complete.split('?');
      const parameters = new URLSearchParams(query);
      parameters.delete(name);
      return world.get(`${path}?${parameters}`);
    };
    // Without a client or an address to return to, the person sees a page.
    for (const name of ['client_id', 'redirect_uri'])
      expect([name, (await without(name)).status]).toEqual([name, 400]);
    for (const [name, error] of [
      ['response_type', 'invalid_request'],
      ['code_challenge', 'invalid_request'],
      ['code_challenge_method', 'invalid_request'],
    ] as const) {
      const { searchParams } = location(await without(name));
      expect([name, searchParams.get('error'), searchParams.get('state')]).toEqual([name, error, 'kept']);
    }
    const granted = async (scope?: string) => (await tokensFor(world, client, ida, defined({ scope }))).scope;
    expect(await granted('read:profile read:investments')).toBe('read:profile read:investments');
    expect(await granted()).toBe('read:profile');
  });

  test('OAUTH-02 OAUTH-04 a granted request redirects with a code and the unchanged state', async () => {
    const state = `a b+c%20&d="<é>'#`;
    const to = await approve(world, client, ida, { scope: 'read:profile read:investments', state });
    expect(`${to.origin}${to.pathname}`).toBe(client.redirectUri);
    expect(to.searchParams.get('state')).toBe(state);
    expect(to.searchParams.get('code')).toMatch(/^ac_test_[0-9A-Za-z]{40}$/);
    expect([...to.searchParams.keys()].sort()).toEqual(['code', 'state']);
  });

  test('the redirect keeps the query of its address and adds no state if the request had none', async () => {
    const own = makeClient(world, { redirectUris: ['https://partner.example/cb?tenant=7'] });
    const to = await approve(world, own, ida);
    expect(to.searchParams.get('tenant')).toBe('7');
    expect(to.searchParams.has('state')).toBe(false);
  });

  test('OAUTH-03 each authorize address accepts only keys of its realm', async () => {
    const live = makeClient(world, { realm: 'live' });
    const liveAtSandbox = await world.get(`/sandbox${authorizePath(live)}`);
    expect(liveAtSandbox.status).toBe(400);
    expect(liveAtSandbox.headers.get('location')).toBeNull();
    const testAtLive = await world.get(authorizePath(client).replace('/sandbox', ''));
    expect(testAtLive.headers.get('location')).toBe(authorizePath(client));
    const posted = await world.post(authorizePath(client).replace('/sandbox', ''), {
      body: form({ action: 'approve' }),
    });
    expect(posted.status).toBe(400);
    expect((await world.get(authorizePath(live))).status).toBe(200);
    expect((await world.get(authorizePath(client))).status).toBe(200);
  });

  test('a denial redirects with access_denied and the state', async () => {
    const visitor = new Visitor(world);
    const path = authorizePath(client, { state: 's1' });
    await visitor.signIn(path, ida);
    const to = location(await visitor.answer(path, { action: 'deny' }));
    expect(Object.fromEntries(to.searchParams)).toEqual({ error: 'access_denied', state: 's1' });
  });

  test.each([
    ['no challenge', { code_challenge: undefined }, 'invalid_request'],
    ['no method', { code_challenge_method: undefined }, 'invalid_request'],
    ['the plain method', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a challenge of the wrong form for S256', { code_challenge: 'short' }, 'invalid_request'],
    ['a padded challenge', { code_challenge: `${'A'.repeat(43)}=` }, 'invalid_request'],
    ['the implicit grant', { response_type: 'token' }, 'unsupported_response_type'],
    ['no response type', { response_type: undefined }, 'invalid_request'],
    ['an empty response type', { response_type: '' }, 'invalid_request'],
  ])(
    'OAUTH-05 an authorize request with %s redirects with an error to the application',
    async (_name, more, error) => {
      const to = location(await world.get(authorizePath(client, { state: 's', more })));
      expect(to.origin).toBe('https://partner.example');
      expect(to.searchParams.get('error')).toBe(error);
      expect(to.searchParams.get('state')).toBe('s');
      expect(to.searchParams.has('code')).toBe(false);
    },
  );

  test.each(['read:syndicates', 'read:nonsense', 'read:profile read:syndicates', 'write:companies'])(
    'OAUTH-06 ERR-20 ERR-23 requesting the unticked scope %s fails with invalid_scope at the authorize step',
    async (scope) => {
      const to = location(await world.get(authorizePath(client, { scope, state: 's' })));
      expect(to.searchParams.get('error')).toBe('invalid_scope');
      expect(to.searchParams.get('state')).toBe('s');
    },
  );

  test('OAUTH-07 a request without a scope gets read:profile, ticked or not', async () => {
    const bare = makeClient(world, { scopes: ['read:investments'] });
    expect((await tokensFor(world, bare, ida)).scope).toBe('read:profile');
    expect((await tokensFor(world, bare, ida, { scope: '' })).scope).toBe('read:profile');
  });

  test.each([
    ['another path', 'https://partner.example/callback/'],
    ['another query', 'https://partner.example/callback?x=1'],
    ['another case', 'https://partner.example/Callback'],
    ['another host', 'https://partner.example.evil.example/callback'],
    ['another port', 'https://partner.example:444/callback'],
    ['the default port spelled out', 'https://partner.example:443/callback'],
    ['another scheme', 'http://partner.example/callback'],
    ['user information', 'https://x@partner.example/callback'],
    ['a fragment', 'https://partner.example/callback#x'],
    ['a script', 'javascript:alert(1)'],
    ['nothing', ''],
  ])(
    'SEC-16 the authorize page refuses a redirect address with %s without redirecting',
    async (_name, wrong) => {
      const answer = await world.get(authorizePath(client, { redirectUri: wrong }));
      expect(answer.status).toBe(400);
      expect(answer.headers.get('location')).toBeNull();
      expect(answer.headers.get('content-type')).toContain('text/html');
      expect(answer.body).not.toContain('evil');
    },
  );

  test('SEC-16 the port of a redirect address may vary only for loopback IP literals', async () => {
    const native = makeClient(world, {
      confidential: false,
      redirectUris: ['http://127.0.0.1:8790/cb', 'http://[::1]/cb', 'http://localhost:8790/cb'],
    });
    const status = async (uri: string) =>
      (await world.get(authorizePath(native, { redirectUri: uri }))).status;
    expect(await status('http://127.0.0.1:51234/cb')).toBe(200);
    expect(await status('http://127.0.0.1/cb')).toBe(200);
    expect(await status('http://[::1]:51234/cb')).toBe(200);
    expect(await status('http://localhost:8790/cb')).toBe(200);
    expect(await status('http://localhost:51234/cb')).toBe(400);
    expect(await status('http://127.0.0.1:51234/other')).toBe(400);
    expect(await status('http://127.0.0.1:99999/cb')).toBe(400);
    expect(await status('http://127.0.0.2:8790/cb')).toBe(400);
    expect(await status('https://127.0.0.1:8790/cb')).toBe(400);
    expect(await status('http://127.0.0.1:80@evil.example/cb')).toBe(400);
  });

  test('SEC-16 the authorize page refuses a repeated parameter without redirecting', async () => {
    const twice = `${authorizePath(client)}&redirect_uri=https%3A%2F%2Fevil.example`;
    const answer = await world.get(twice);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('location')).toBeNull();
  });

  test('the authorize page refuses an unknown client without redirecting', async () => {
    const unknown = { ...client, clientId: 'pk_test_unknown' };
    const answer = await world.get(authorizePath(unknown));
    expect(answer.status).toBe(400);
    expect(answer.headers.get('location')).toBeNull();
  });

  test('the authorize page forbids framing, caching and script, and script cannot read its cookie', async () => {
    const answer = await world.get(authorizePath(client));
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain(`default-src 'none'`);
    expect(policy).toContain(`frame-ancestors 'none'`);
    expect(policy).not.toMatch(/unsafe|script-src/);
    expect(answer.headers.get('x-frame-options')).toBe('DENY');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Lax/);
    expect(answer.body).not.toContain('<script');
  });

  test('the authorize page refuses a form without its own token: no cookie, another cookie or no token', async () => {
    const visitor = new Visitor(world);
    const path = authorizePath(client);
    await visitor.signIn(path, ida);
    const stranger = new Visitor(world);
    await stranger.open(path);
    const before = one<{ n: number }>(world.services.state, 'SELECT count(*) AS n FROM grants')?.n;
    const tokens = ['', 'x'.repeat(64)];
    for (const csrf of tokens) {
      expect((await visitor.submit(path, { action: 'approve', csrf })).status).toBe(403);
    }
    expect((await world.post(path, { body: form({ action: 'approve' }) })).status).toBe(403);
    expect(one<{ n: number }>(world.services.state, 'SELECT count(*) AS n FROM grants')?.n).toBe(before);
  });

  test('signing in gives the browser a new cookie, and signing out ends the old one', async () => {
    const visitor = new Visitor(world);
    const path = authorizePath(client);
    await visitor.open(path);
    const planted = visitor.cookie;
    await visitor.signIn(path, ida);
    expect(visitor.cookie).not.toBe(planted);
    const signedIn = visitor.cookie;
    expect((await visitor.open(path)).body).toContain('Ida Investor');
    await visitor.answer(path, { action: 'sign_out' });
    visitor.cookie = signedIn;
    expect((await visitor.open(path)).body).not.toContain('name="action" value="approve"');
  });

  test('signing in as another person ends the previous session, and its cookie identifies no one', async () => {
    const visitor = new Visitor(world);
    const path = authorizePath(client);
    await visitor.signIn(path, ida);
    const before = visitor.cookie;
    await visitor.signIn(path, 'ivan@people.example');
    expect((await visitor.open(path)).body).toContain('Ivan Investor</strong>');
    visitor.cookie = before;
    expect((await visitor.open(path)).body).not.toContain('name="action" value="approve"');
  });

  test('a sign-in session ends after eight hours', async () => {
    const visitor = new Visitor(world);
    const path = authorizePath(client);
    await visitor.signIn(path, ida);
    world.clock.advance(8 * 60 * minute - 1);
    expect((await visitor.open(path)).body).toContain('value="approve"');
    world.clock.advance(1);
    expect((await visitor.open(path)).body).not.toContain('value="approve"');
  });

  test('the authorize page shows names of applications and people as text, never as markup', async () => {
    const evil = makeClient(world, { name: '<img src=x onerror=alert(1)>"\'&' });
    const visitor = new Visitor(world);
    const path = authorizePath(evil, { state: '"><script>alert(1)</script>' });
    const signIn = await visitor.answer(path, { action: 'sign_in', email: '"><b>nobody' });
    expect(signIn.status).toBe(422);
    for (const page of [signIn, await visitor.open(path)]) {
      expect(page.body).not.toMatch(/<img|<script|<b>/);
      expect(page.body).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;');
    }
  });
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

describe('refreshing tokens', () => {
  test('OAUTH-11 OAUTH-18 every refresh returns a new pair', async () => {
    const first = await tokensFor(world, client, ida);
    const second = await refresh(world, client, first.refresh_token);
    expect(second.status).toBe(200);
    expect(second.body.refresh_token).not.toBe(first.refresh_token);
    expect(second.body.access_token).not.toBe(first.access_token);
    expect(second.body.expires_in).toBe(7200);
  });

  test('OAUTH-19 OAUTH-20 the old refresh token works until the new access token is first used', async () => {
    const first = await tokensFor(world, client, ida);
    const lost = await refresh(world, client, first.refresh_token);
    const again = await refresh(world, client, first.refresh_token);
    expect(again.status).toBe(200);
    expect(await works(world, again.body.access_token)).toBe(true);
    expect(await works(world, lost.body.access_token)).toBe(false);
    const dead = await refresh(world, client, first.refresh_token);
    expect([dead.status, dead.body.error]).toEqual([400, 'invalid_grant']);
    expect(await works(world, again.body.access_token)).toBe(false);
    expect((await refresh(world, client, again.body.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('using the previous access token does not invalidate the refresh token', async () => {
    const first = await tokensFor(world, client, ida);
    await refresh(world, client, first.refresh_token);
    expect(await works(world, first.access_token)).toBe(true);
    expect((await refresh(world, client, first.refresh_token)).status).toBe(200);
  });

  test('OAUTH-19 when a refresh arrives twice, either pair works, whichever is used first', async () => {
    for (const used of [0, 1] as const) {
      const first = await tokensFor(world, client, ida);
      const answers = [
        await refresh(world, client, first.refresh_token),
        await refresh(world, client, first.refresh_token),
      ] as const;
      const [mine, other] = [answers[used], answers[used === 0 ? 1 : 0]];
      expect(await works(world, mine.body.access_token)).toBe(true);
      expect(await works(world, other.body.access_token)).toBe(false);
      expect((await refresh(world, client, mine.body.refresh_token)).status).toBe(200);
    }
  });

  test('OAUTH-20 using the refresh token of an overtaken pair revokes the family, because two clients hold it', async () => {
    const first = await tokensFor(world, client, ida);
    const one = await refresh(world, client, first.refresh_token);
    const two = await refresh(world, client, first.refresh_token);
    expect(await works(world, two.body.access_token)).toBe(true);
    expect((await refresh(world, client, one.body.refresh_token)).body.error).toBe('invalid_grant');
    expect(await works(world, two.body.access_token)).toBe(false);
  });

  test('OAUTH-21 a refresh returns at most the original scopes', async () => {
    const scope = 'read:profile write:webhooks';
    const first = await tokensFor(world, client, ida, { scope });
    const more = await refresh(world, client, first.refresh_token, {
      scope: 'read:profile read:investments',
    });
    expect([more.status, more.body.error]).toEqual([400, 'invalid_scope']);
    const less = await refresh(world, client, first.refresh_token, { scope: 'read:webhooks' });
    expect(less.body.scope).toBe('read:webhooks');
    const whole = await refresh(world, client, less.body.refresh_token);
    expect(whole.body.scope).toBe(scope);
  });

  test('OAUTH-30 a refresh token expires after 30 idle days, and no chain outlives a year', async () => {
    const idle = await tokensFor(world, client, ida);
    world.clock.advance(30 * day);
    expect((await refresh(world, client, idle.refresh_token)).body.error).toBe('invalid_grant');
    let { refresh_token } = await tokensFor(world, client, ida);
    for (let days = 29; days < 365; days += 29) {
      world.clock.advance(29 * day);
      const next = await refresh(world, client, refresh_token);
      expect(next.status).toBe(200);
      refresh_token = next.body.refresh_token;
    }
    // Twelve times 29 days have passed: 17 are left of the year.
    world.clock.advance(17 * day - 1000);
    const last = await refresh(world, client, refresh_token);
    expect(last.status).toBe(200);
    world.clock.advance(1000);
    expect((await refresh(world, client, last.body.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('OAUTH-11 ERR-20 a refresh token that was never issued returns invalid_grant', async () => {
    const answer = await refresh(world, client, 'rt_test_unknown');
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('another client can neither use nor revoke a refresh token', async () => {
    const other = makeClient(world);
    const first = await tokensFor(world, client, ida);
    expect((await refresh(world, other, first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refresh(world, client, first.refresh_token)).status).toBe(200);
  });
});

test('the printed application and users of the sandbox work as credentials', async () => {
  // A platform of its own: in the shared one the clock has moved on by years.
  const fresh = await startPlatform();
  const [app] = fresh.ready.apps;
  if (app === undefined) throw new Error('the sandbox has no application');
  const printed: TestClient = {
    applicationNo: 1,
    applicationId: '',
    clientId: app.clientId,
    secret: app.clientSecret,
    redirectUri: app.redirectUri,
    realm: 'test',
    confidential: true,
  };
  expect(await works(fresh, (await tokensFor(fresh, printed, ida)).access_token)).toBe(true);
  for (const person of fresh.ready.users) {
    const next = await refresh(fresh, printed, person.refreshToken ?? '');
    expect(next.status).toBe(200);
    expect(await works(fresh, next.body.access_token)).toBe(true);
  }
  await fresh.close();
});

test('the log entry of a replay names the application and contains no usable secret', async () => {
  const lines: [LogFields, string][] = [];
  const warn = (fields: LogFields, message: string) => lines.push([fields, message]);
  const watched = await startPlatform({ logger: { ...silentLogger, warn } });
  const own = makeClient(watched);
  const first = await tokensFor(watched, own, ida);
  const next = await refresh(watched, own, first.refresh_token);
  await works(watched, next.body.access_token);
  await refresh(watched, own, first.refresh_token);
  expect(lines).toEqual([
    [{ component: 'oauth', application: own.applicationId }, 'refresh token presented again'],
  ]);
  await watched.close();
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

describe('revoking tokens', () => {
  const revoke = (token: string, by: TestClient = client) =>
    world.post('/oauth/revoke', {
      body: form({ token, client_id: by.clientId, client_secret: by.confidential ? by.secret : undefined }),
    });

  test.each(['access_token', 'refresh_token'])('revoking the %s ends the pair', async (which) => {
    const tokens = await tokensFor(world, client, ida);
    expect((await revoke(tokens[which])).status).toBe(200);
    expect(await works(world, tokens.access_token)).toBe(false);
    expect((await refresh(world, client, tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('ERR-09 ERR-21 ERR-23 a revoked token returns 401 unauthorized and is named invalid_token', async () => {
    const tokens = await tokensFor(world, client, ida);
    await revoke(tokens.access_token);
    const answer = await world.get('/installations', { token: tokens.access_token });
    expect(answer.status).toBe(401);
    expect(answer.body.error.type).toBe('unauthorized');
    expect(answer.body.error.details).toEqual({ code: 'invalid_token' });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
  });

  test('revoking an unknown token also returns 200, and another client’s request changes nothing', async () => {
    const tokens = await tokensFor(world, client, ida);
    expect((await revoke('at_test_unknown')).status).toBe(200);
    expect((await revoke(tokens.refresh_token, makeClient(world))).status).toBe(200);
    expect((await revoke(tokens.access_token, makeClient(world))).status).toBe(200);
    expect(await works(world, tokens.access_token)).toBe(true);
  });

  test('the revocation endpoint refuses a client that cannot authenticate', async () => {
    const tokens = await tokensFor(world, client, ida);
    const answer = await revoke(tokens.access_token, { ...client, secret: 'sk_test_wrong' });
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
    expect(await works(world, tokens.access_token)).toBe(true);
  });
});

test('discovery lists the addresses of each realm and nothing the server does not offer', async () => {
  const live = (await world.get('/.well-known/oauth-authorization-server')).body;
  const sandbox = (await world.get('/.well-known/oauth-authorization-server/sandbox')).body;
  expect(live).toMatchObject({
    issuer: world.url,
    authorization_endpoint: `${world.url}/oauth/authorize`,
    token_endpoint: `${world.url}/oauth/token`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
  });
  expect(live.registration_endpoint).toBeUndefined();
  expect(sandbox).toEqual({
    ...live,
    issuer: `${world.url}/sandbox`,
    authorization_endpoint: `${world.url}/sandbox/oauth/authorize`,
  });
});

test("OAUTH-31 a page may post to the token endpoint only from an origin of the client's own redirect URIs", async () => {
  const own = makeClient(world, { redirectUris: ['https://own.example/callback'] });
  makeClient(world, { redirectUris: ['https://other.example/callback'] });
  const allowed = async (origin: string, client_id?: string) => {
    const body = form({ grant_type: 'refresh_token', client_id, refresh_token: 'rt_test_none' });
    const { headers } = await world.post('/oauth/token', { headers: { origin }, body });
    return headers.get('access-control-allow-origin');
  };
  expect(await allowed('https://own.example', own.clientId)).toBe('https://own.example');
  expect(await allowed('https://other.example', own.clientId)).toBeNull();
  expect(await allowed('https://elsewhere.example', own.clientId)).toBeNull();
  expect(await allowed('https://own.example')).toBeNull();
});

test.each(['/oauth/token', '/oauth/revoke'])(
  'OAUTH-13 %s names the supported scheme to a client that sends HTTP Basic',
  async (path) => {
    const basic = Buffer.from(`${client.clientId}:${client.secret}`).toString('base64');
    const ask = (fields: Readonly<Record<string, string>>) =>
      world.post(path, {
        headers: { authorization: `Basic ${basic}` },
        body: form({ grant_type: 'client_credentials', token: 'at_test_none', ...fields }),
      });
    const refused = await ask({});
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client']);
    expect(refused.body.error_description).toMatch(/HTTP Basic.*client_secret_post/);
    // The form counts; a header beside it is ignored.
    expect((await ask({ client_id: client.clientId, client_secret: client.secret })).status).toBe(200);
  },
);

describe('OAUTH-31 cross-origin writes', () => {
  const writes = [
    ['PUT', '/users/me/follows/co_none'],
    ['POST', '/installations'],
    ['PATCH', '/syndicates/syn_none'],
    ['DELETE', '/users/me/follows/co_none'],
  ] as const;

  test.each(writes)(
    "%s answers only the origins of the application's own redirect URIs",
    async (method, path) => {
      const client = makeClient(world, {
        redirectUris: ['https://own.example/a', 'https://second.example/b'],
      });
      makeClient(world, { redirectUris: ['https://other.example/callback'] });
      const token = userToken(world, client, ida, [
        'write:follows',
        'write:syndicates',
        'write:installations',
      ]);
      const allowed = async (origin: string) => {
        const { status, headers } = await world.send(method, path, { token, headers: { origin }, body: {} });
        expect(status).toBeGreaterThanOrEqual(400);
        return headers.get('access-control-allow-origin');
      };
      expect(await allowed('https://own.example')).toBe('https://own.example');
      expect(await allowed('https://second.example')).toBe('https://second.example');
      for (const origin of [
        'https://other.example',
        'https://elsewhere.example',
        'https://own.example:444',
        'null',
      ]) {
        expect([origin, await allowed(origin)]).toEqual([origin, null]);
      }
    },
  );

  test("a page of the application's origin can read why an expired token was refused", async () => {
    const client = makeClient(world, { redirectUris: ['https://own.example/callback'] });
    const token = userToken(world, client, ida, ['write:follows']);
    const { state } = world.services;
    run(state, 'UPDATE access_tokens SET expires_at = 1 WHERE no = (SELECT max(no) FROM access_tokens)');
    const ask = (origin: string) => world.put('/users/me/follows/co_none', { token, headers: { origin } });
    const own = await ask('https://own.example');
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([
      401,
      'https://own.example',
    ]);
    expect((await ask('https://elsewhere.example')).headers.get('access-control-allow-origin')).toBeNull();
  });

  test('a preflight of an unregistered origin names only the methods that read', async () => {
    makeClient(world, { redirectUris: ['https://own.example/callback'] });
    const preflight = async (origin: string, method: string) => {
      const headers = { origin, 'access-control-request-method': method };
      const answer = await world.send('OPTIONS', '/installations', { headers });
      return ['origin', 'methods'].map((name) => answer.headers.get(`access-control-allow-${name}`));
    };
    expect(await preflight('https://elsewhere.example', 'GET')).toEqual(['*', 'GET']);
    expect(await preflight('https://elsewhere.example', 'POST')).toEqual([null, null]);
    expect(await preflight('https://own.example', 'GET')).toEqual(['*', 'GET, POST']);
    expect(await preflight('https://own.example', 'POST')).toEqual(['https://own.example', 'GET, POST']);
  });
});
