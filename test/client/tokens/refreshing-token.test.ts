import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fileCredentials } from '../../../src/client/tokens/credential-store.js';
import { readCredentials, writeCredentials } from '../../../src/client/tokens/credentials-file.js';
import { refreshingToken } from '../../../src/client/tokens/refreshing-token.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { systemDisk } from '../../../src/runtime/replace-file.js';
import { openSignIn, type SignIn, stored } from './signed-in.js';
import { response, TokenServer } from './token-server.js';

const signal = new AbortController().signal;

let { folder, path, clock, provider } = {} as SignIn;
beforeEach(async () => {
  ({ folder, path, clock, provider } = await openSignIn());
});
afterEach(() => rm(folder, { recursive: true }));

describe('refreshing token: an access token', () => {
  test('OAUTH-16 an access token is used until it expires, without a request', async () => {
    const server = new TokenServer();
    expect(await provider(server).current(signal)).toBe('at_old');
    expect(server.asked).toBe(0);
  });

  test('OAUTH-14 OAUTH-18 CLIENT-11 an access token is refreshed 30 seconds before it expires, and the rotated pair is stored', async () => {
    const server = new TokenServer();
    let sent = '';
    server.wire = async (send) => send();
    const tokens = refreshingToken({
      store: fileCredentials(path, clock),
      application: (clientId) => {
        sent = clientId;
        return server.api(clock);
      },
      clock,
      logger: silentLogger,
    });
    clock.advance(9 * 60_000 + 29_999);
    expect(await tokens.current(signal)).toBe('at_old');
    clock.advance(1);
    expect(await tokens.current(signal)).toBe('at_1');
    expect(sent).toBe('pk_test_1');
    expect(await readCredentials(path)).toEqual({
      ...stored,
      accessToken: 'at_1',
      refreshToken: 'rt_1',
      previousRefreshToken: 'rt_0',
      expiresAt: '2026-11-20T14:09:30.000Z',
    });
  });

  test('CLIENT-10 an access token is refreshed when it is rejected, whatever its expiry', async () => {
    expect(await provider(new TokenServer()).renew('at_old', signal)).toBe('at_1');
  });

  test('an access token is used until it expires while the token endpoint is unavailable', async () => {
    const server = new TokenServer();
    server.wire = async () => response(503, '');
    const tokens = provider(server);
    clock.advance(9 * 60_000 + 45_000);
    expect(await tokens.current(signal)).toBe('at_old');
    clock.advance(15_000);
    await expect(tokens.current(signal)).rejects.toMatchObject({ code: 'platform_error' });
  });

  test('an access token recovers when a duplicated refresh voids the new pair, however often that happens', async () => {
    const server = new TokenServer({ voids: true });
    server.wire = async (send) => {
      const answered = await send();
      await send();
      return answered;
    };
    const tokens = provider(server);
    let refused = 'at_old';
    for (let times = 0; times < 4; times += 1) {
      const fresh = await tokens.renew(refused, signal);
      expect(fresh).not.toBe(refused);
      expect(server.use(fresh)).toBe(false);
      refused = fresh;
    }
    server.wire = (send) => send();
    expect(server.use(await tokens.renew(refused, signal))).toBe(true);
  });

  test('an access token of an answer that names no more is used without an end, and the rest of the sign-in is kept', async () => {
    const before = { ...stored, previousRefreshToken: 'rt_before' };
    await writeCredentials(path, before);
    const server = new TokenServer();
    server.wire = async () => response(200, { access_token: 'at_bare' });
    const tokens = provider(server);
    await tokens.renew('at_old', signal);
    expect(await readCredentials(path)).toEqual({ ...before, accessToken: 'at_bare', expiresAt: null });
    server.wire = async () => response(503, '');
    clock.advance(365 * 24 * 3_600_000);
    expect(await tokens.current(signal)).toBe('at_bare');
  });

  test('an access token is stored with the scope that the answer names', async () => {
    const server = new TokenServer();
    server.wire = async () => response(200, { access_token: 'at_less', scope: 'read:profile' });
    await provider(server).renew('at_old', signal);
    expect((await readCredentials(path)).scope).toBe('read:profile');
  });

  test('an access token without a refresh token is never replaced', async () => {
    await writeCredentials(path, { ...stored, refreshToken: null });
    expect(await provider(new TokenServer()).renew('at_old', signal)).toBe('at_old');
  });
});

describe('refreshing token: one refresh at a time', () => {
  test('callers with the same rejected token share one refresh', async () => {
    const server = new TokenServer();
    const tokens = provider(server);
    const renewed = await Promise.all(Array.from({ length: 20 }, () => tokens.renew('at_old', signal)));
    expect(new Set(renewed)).toEqual(new Set(['at_1']));
    expect(server.asked).toBe(1);
  });

  test("two holders of the credentials file take turns, and the second reads the first one's tokens", async () => {
    const server = new TokenServer();
    // The one that waits for the lock looks until it is free, however long the disk takes to write for the other.
    const unhurried = { ...systemClock, monotonic: () => 0 };
    const holders = [1, 2].map(() => provider(server, systemDisk, unhurried));
    const renewed = await Promise.all(holders.map((one) => one.renew('at_old', signal)));
    expect(renewed).toEqual(['at_1', 'at_1']);
    expect(server).toMatchObject({ asked: 1, inFlightMax: 1 });
  });

  test('a caller that is stopped does not fail the others waiting for the same refresh', async () => {
    const server = new TokenServer();
    const tokens = provider(server);
    const impatient = new AbortController();
    server.wire = async (send) => {
      if (impatient.signal.aborted) return send();
      impatient.abort();
      throw new Error('aborted');
    };
    const [gaveUp, waited] = await Promise.allSettled([
      tokens.renew('at_old', impatient.signal),
      tokens.renew('at_old', signal),
    ]);
    expect(gaveUp).toMatchObject({ status: 'rejected', reason: { code: 'stopped' } });
    expect(waited).toEqual({ status: 'fulfilled', value: 'at_1' });
  });

  test('a caller with a token that was replaced meanwhile gets the new one, without a look at the file', async () => {
    const tokens = provider(new TokenServer());
    expect(await tokens.renew('at_old', signal)).toBe('at_1');
    await rm(path);
    expect(await tokens.renew('at_old', signal)).toBe('at_1');
  });

  /** Another process takes the lock while this one waits for its response. */
  function overtaken(server: TokenServer) {
    const store = fileCredentials(path, clock);
    const lock = { isMine: false };
    const tokens = refreshingToken({
      store: { ...store, withLock: (_, work) => work(async () => lock.isMine) },
      application: () => server.api(clock),
      clock,
      logger: silentLogger,
    });
    return { tokens, lock };
  }

  test('a process that lost the lock stores nothing over the pair of the one that took it', async () => {
    const server = new TokenServer();
    const others = { ...stored, accessToken: 'at_other', refreshToken: 'rt_other' };
    server.wire = async (send) => {
      await writeCredentials(path, others);
      return send();
    };
    expect(await overtaken(server).tokens.renew('at_old', signal)).toBe('at_other');
    expect(await readCredentials(path)).toEqual(others);
  });

  test('a process that lost the lock to one that stored nothing yet tries again later', async () => {
    const { tokens, lock } = overtaken(new TokenServer());
    await expect(tokens.renew('at_old', signal)).rejects.toMatchObject({ code: 'unreachable' });
    expect(await readCredentials(path)).toEqual(stored);
    lock.isMine = true;
    expect(await tokens.renew('at_old', signal)).toBe('at_2');
  });

  test('a new sign-in by a person is picked up after a rejected token', async () => {
    const server = new TokenServer();
    const tokens = provider(server);
    expect(await tokens.current(signal)).toBe('at_old');
    await writeCredentials(path, { ...stored, accessToken: 'at_human' });
    expect(await tokens.renew('at_old', signal)).toBe('at_human');
    expect(server.asked).toBe(0);
  });
});

describe('refreshing token: a sign-in that has ended', () => {
  test('a stored sign-in keeps its number while processes refresh it, and gets another one when a person replaces it, whoever reads it first', async () => {
    const [one, two] = [provider(new TokenServer()), provider(new TokenServer())];
    expect(await one.current(signal)).toBe('at_old');
    expect(await one.signIn?.(), 'as it was read first').toBe(0);
    const fresh = await two.renew('at_old', signal);
    expect(await two.signIn?.(), 'refreshed by itself').toBe(0);
    expect(await one.signIn?.(), 'refreshed by another process').toBe(0);
    expect(await one.current(signal)).toBe(fresh);
    await writeCredentials(path, { ...stored, accessToken: 'at_new', refreshToken: 'rt_new' });
    expect(await one.renew(fresh, signal), 'a request reads it before anything else does').toBe('at_new');
    expect(await one.signIn?.(), 'replaced by a person').toBe(1);
    expect(await one.signIn?.()).toBe(1);
    expect(await provider(new TokenServer()).signIn?.(), 'none was read before').toBe(1);
  });

  test('OAUTH-20 CLIENT-12 invalid_grant asks for a new sign-in, once', async () => {
    const server = new TokenServer();
    await writeCredentials(path, { ...stored, refreshToken: 'rt_spent' });
    const tokens = provider(server);
    for (let turn = 0; turn < 3; turn += 1) {
      await expect(tokens.renew('at_old', signal)).rejects.toMatchObject({
        code: 'reauthorize',
        about: { hint: expect.stringContaining('rosterd connect') },
      });
    }
    expect(server.asked).toBe(1);
  });

  test('invalid_grant is ignored when another process stored a new sign-in meanwhile', async () => {
    const server = new TokenServer();
    await writeCredentials(path, { ...stored, refreshToken: 'rt_spent' });
    server.wire = async (send) => {
      await writeCredentials(path, { ...stored, accessToken: 'at_human', refreshToken: 'rt_human' });
      return send();
    };
    expect(await provider(server).renew('at_old', signal)).toBe('at_human');
  });
});

const checkKeys = 'check clientId and clientSecret in the configuration';
const compareKeys =
  'compare clientId and clientSecret with the keys of the application; only a public client has no secret';

test.each([
  ['without a readable reason', 400, '<html>Bad request</html>', 'contract_broken', expect.any(String)],
  ['without a reason and with 401', 401, '<html>Sign in</html>', 'contract_broken', expect.any(String)],
  ['with a reason', 400, { error: 'unsupported_grant_type' }, 'refused', checkKeys],
  ['of a wrong client secret', 401, { error: 'invalid_client' }, 'refused', compareKeys],
  ['of a disabled application', 403, { error: 'unauthorized_client' }, 'refused', checkKeys],
  ['that is no longer there', 410, { error: { type: 'gone' } }, 'refused', checkKeys],
])(
  'refreshing token: a refusal of the token endpoint %s says nothing about the request that needed the token',
  async (_, status, body, code, hint) => {
    const server = new TokenServer();
    server.wire = async () => response(status, body);
    const refusal = await provider(server)
      .renew('at_old', signal)
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code, about: { hint } });
    expect(refusal).not.toHaveProperty('about.status');
    expect(await readCredentials(path)).toEqual(stored);
  },
);
