import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type LogFields, silentLogger } from '../../src/runtime/logger.js';
import { makeClient, refresh, type TestClient, tokensFor, works } from './credentials.js';
import { startPlatform } from './running-platform.js';

const ida = 'ida@people.example';
const minute = 60_000;
const day = 24 * 60 * minute;

const world = await startPlatform();
let client: TestClient;

afterAll(() => world.close());
beforeEach(() => {
  client = makeClient(world);
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
