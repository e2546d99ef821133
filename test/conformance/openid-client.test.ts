import * as oidc from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { manualClock } from '../support/manual-clock.js';
import { location, makeClient, redirectUri, Visitor, works } from './credentials.js';
import { type RunningPlatform, startPlatform } from './running-platform.js';

let world: RunningPlatform;
beforeAll(async () => {
  world = await startPlatform({ clock: { ...systemLike } });
});
afterAll(() => world.close());

/** The library reads the system clock, so the platform must use it here. */
const systemLike = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // A wait that returns at once would let a polling loop spin forever.
  wait: manualClock(0).wait,
};

describe.each(['test', 'live'] as const)('an unmodified OAuth client library, %s keys', (realm) => {
  const configure = async (secret: string | undefined, clientId: string) =>
    oidc.discovery(
      new URL(realm === 'test' ? `${world.url}/sandbox` : world.url),
      clientId,
      undefined,
      secret === undefined ? oidc.None() : oidc.ClientSecretPost(secret),
      { execute: [oidc.allowInsecureRequests], algorithm: 'oauth2' },
    );

  test.each([true, false])(
    'openid-client discovers, signs in with PKCE and refreshes (confidential: %s)',
    async (confidential) => {
      const client = makeClient(world, { realm, confidential });
      const config = await configure(confidential ? client.secret : undefined, client.clientId);
      const verifier = oidc.randomPKCECodeVerifier();
      const state = oidc.randomState();
      const link = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'read:profile read:investments',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
      });
      const visitor = new Visitor(world);
      const path = link.pathname + link.search;
      await visitor.signIn(path, 'ida@people.example');
      const back = location(await visitor.answer(path, { action: 'approve' }));
      const tokens = await oidc.authorizationCodeGrant(config, back, {
        pkceCodeVerifier: verifier,
        expectedState: state,
      });
      expect(tokens.scope).toBe('read:profile read:investments');
      expect(tokens.expires_in).toBe(7_200);
      const next = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '');
      expect(await works(world, next.access_token)).toBe(true);
      await expect(oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')).rejects.toMatchObject({
        error: 'invalid_grant',
        status: 400,
      });
    },
  );

  test('openid-client gets client credentials, revokes them and reads the errors', async () => {
    const client = makeClient(world, { realm });
    const config = await configure(client.secret, client.clientId);
    const tokens = await oidc.clientCredentialsGrant(config, { scope: 'read:public' });
    expect(await works(world, tokens.access_token)).toBe(true);
    await oidc.tokenRevocation(config, tokens.access_token);
    expect(await works(world, tokens.access_token)).toBe(false);
    const refused = oidc.clientCredentialsGrant(config, { scope: 'read:explore' });
    await expect(refused).rejects.toMatchObject({ error: 'invalid_scope', status: 400 });
  });

  test('openid-client reads a denial', async () => {
    const client = makeClient(world, { realm });
    const config = await configure(client.secret, client.clientId);
    const back = new URL(`${redirectUri}?error=access_denied&state=s`);
    const grant = oidc.authorizationCodeGrant(config, back, { expectedState: 's' });
    await expect(grant).rejects.toMatchObject({ error: 'access_denied' });
  });
});
