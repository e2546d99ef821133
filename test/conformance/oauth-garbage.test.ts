import { afterAll, beforeAll, expect, test } from 'vitest';
import fc from '../support/property.js';
import { challenge, form, makeClient, redirectUri, type TestClient, Visitor } from './credentials.js';
import { type RunningPlatform, startPlatform } from './running-platform.js';

/** The server must answer any input without a crash and redirect only to registered addresses. */
let world: RunningPlatform;
let client: TestClient;
let visitor: Visitor;
beforeAll(async () => {
  world = await startPlatform({ limits: false, records: 1 });
  client = makeClient(world);
  visitor = new Visitor(world);
});
afterAll(() => world.close());

const nasty = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(
    '',
    '0',
    'null',
    '\u0000',
    '%00',
    '../..',
    '[object Object]',
    '\r\nSet-Cookie: a=b',
    '😀\ud800',
  ),
  fc.constantFrom(
    'http://evil.example/',
    '//evil.example',
    'javascript:alert(1)',
    'https://partner.example@evil.example',
  ),
);
const value = (right: string) =>
  fc.option(fc.oneof({ weight: 3, arbitrary: fc.constant(right) }, nasty), { nil: undefined });

const authorization = () =>
  fc.record({
    response_type: value('code'),
    client_id: value(client.clientId),
    redirect_uri: value(redirectUri),
    scope: value('read:profile'),
    state: value('s'),
    code_challenge: value(challenge),
    code_challenge_method: value('S256'),
    action: value('sign_in'),
    email: value('ida@people.example'),
    csrf: value('x'),
  });

test('SEC-16 the authorize page survives arbitrary input and redirects only to registered addresses', async () => {
  await fc.assert(
    fc.asyncProperty(authorization(), fc.boolean(), async (fields, post) => {
      const path = `/sandbox/oauth/authorize?${form(fields)}`;
      const answer = post
        ? await visitor.submit(path, Object.fromEntries(form(fields)))
        : await visitor.open(path);
      expect(answer.status).toBeLessThan(500);
      const to = answer.headers.get('location');
      if (to !== null)
        expect(to.startsWith(`${redirectUri}?`) || to.startsWith('/sandbox/oauth/')).toBe(true);
      expect(answer.headers.get('set-cookie') ?? 'platform_session=').toMatch(/^platform_session=/);
    }),
    { numRuns: 300 },
  );
});

test('the token and revocation endpoints survive arbitrary input', async () => {
  const body = fc.record({
    grant_type: fc.option(
      fc.oneof(fc.constantFrom('authorization_code', 'refresh_token', 'client_credentials'), nasty),
      {
        nil: undefined,
      },
    ),
    client_id: value(client.clientId),
    client_secret: value(client.secret),
    code: value('ac_test_x'),
    redirect_uri: value(redirectUri),
    code_verifier: value('x'.repeat(43)),
    refresh_token: value('rt_test_x'),
    token: value('at_test_x'),
    scope: value('read:public'),
  });
  await fc.assert(
    fc.asyncProperty(body, fc.constantFrom('token', 'revoke'), async (fields, endpoint) => {
      const answer = await world.post(`/oauth/${endpoint}`, { body: form(fields) });
      expect([200, 400, 401]).toContain(answer.status);
      if (answer.status !== 200)
        expect(Object.keys(answer.body).sort()).toEqual(['error', 'error_description', 'error_uri']);
    }),
    { numRuns: 300 },
  );
});
