import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { form, makeClient, refresh, type TestClient, tokensFor, works } from './credentials.js';
import { startPlatform } from './running-platform.js';

const ida = 'ida@people.example';

const world = await startPlatform();
let client: TestClient;

afterAll(() => world.close());
beforeEach(() => {
  client = makeClient(world);
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
