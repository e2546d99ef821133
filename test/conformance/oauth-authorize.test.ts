import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { defined } from '../../src/domain/defined.js';
import { one, run } from '../../src/platform/state/statements.js';
import {
  approve,
  authorizePath,
  form,
  location,
  makeClient,
  type TestClient,
  tokensFor,
  userToken,
  Visitor,
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
