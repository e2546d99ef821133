import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fileCredentials } from '../../../src/client/tokens/credential-store.js';
import {
  type Credentials,
  readCredentials,
  writeCredentials,
} from '../../../src/client/tokens/credentials-file.js';
import { refreshingToken } from '../../../src/client/tokens/refreshing-token.js';
import type { Instant } from '../../../src/domain/instant.js';
import { type Clock, systemClock } from '../../../src/runtime/clock.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { type Disk, systemDisk } from '../../../src/runtime/replace-file.js';
import { FakeClock } from '../fake-clock.js';
import { response, TokenServer, type Wire } from './token-server.js';

const signal = new AbortController().signal;
const stored: Credentials = {
  clientId: 'pk_test_1',
  clientSecret: 'sk_test_1',
  accessToken: 'at_old',
  refreshToken: 'rt_0',
  previousRefreshToken: null,
  expiresAt: '2026-11-20T12:10:00.000Z' as Instant,
  scope: 'read:investments',
};

let folder: string;
let path: string;
let clock: FakeClock;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rosterd-tokens-'));
  path = join(folder, 'credentials.json');
  clock = new FakeClock();
  await writeCredentials(path, stored);
});
afterEach(() => rm(folder, { recursive: true }));

function provider(server: TokenServer, disk: Disk = systemDisk, lockClock: Clock = clock) {
  const store = fileCredentials(path, lockClock, disk);
  return refreshingToken({ store, application: () => server.api(clock), clock, logger: silentLogger });
}

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
    clock.advance(9 * 60_000 + 29_000);
    expect(await tokens.current(signal)).toBe('at_old');
    clock.advance(1_000);
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

/*
 * Every point at which the process can die during a refresh, combined with every outcome of the request, on a
 * platform that keeps an unused pair and on one that voids it. After the crash a new process continues.
 */
describe('refreshing token: crashes', () => {
  class Crash extends Error {}
  const crash = (): never => {
    throw new Crash('the process died here');
  };
  const diskDyingAt = (step: keyof Disk, when: 'before' | 'after'): Disk => ({
    ...systemDisk,
    [step]: async (a: string, b: string) => {
      if (when === 'before') crash();
      await systemDisk[step](a, b);
      crash();
    },
  });
  const crashes: readonly { name: string; disk?: Disk; wire?: Wire }[] = [
    { name: 'never' },
    { name: 'before the request is sent', wire: async () => crash() },
    {
      name: 'after it was sent, before the answer',
      wire: async (send) => {
        await send();
        return crash();
      },
    },
    ...(['write', 'sync', 'rename', 'syncFolder'] as const).flatMap((step) =>
      (['before', 'after'] as const).map((when) => ({
        name: `${when} ${step}`,
        disk: diskDyingAt(step, when),
      })),
    ),
  ];
  /** Created for each process: the accident happens to its first request. */
  const answers: Record<string, () => Wire> = {
    arrives: () => (send) => send(),
    'is lost once': () =>
      onceThen(async (send) => {
        await send();
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
      }),
    'is doubled, the first one counts': () =>
      onceThen(async (send) => {
        const first = await send();
        await send();
        return first;
      }),
    'is doubled, the second one counts': () =>
      onceThen(async (send) => {
        await send();
        return send();
      }),
    'is lost and the request comes again late, after the next one': () => {
      let late: (() => Promise<unknown>) | undefined;
      return async (send) => {
        if (late === undefined) {
          late = send;
          throw Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' });
        }
        const answer = await send();
        await late();
        late = async () => {};
        return answer;
      };
    },
  };

  function onceThen(first: Wire): Wire {
    let isFirst = true;
    return (send) => {
      if (!isFirst) return send();
      isFirst = false;
      return first(send);
    };
  }

  for (const voids of [false, true]) {
    for (const { name, disk, wire } of crashes) {
      for (const [fate, answer] of Object.entries(answers)) {
        test(`OAUTH-19 CLIENT-11 the process dies: ${name}; the response ${fate}; an unused pair is ${voids ? 'void' : 'kept'}`, async () => {
          const server = new TokenServer({ voids });
          server.wire = wire ?? answer();
          await provider(server, disk)
            .renew('at_old', signal)
            .then((token) => server.use(token))
            .catch(() => {});
          // Runs the next process until it succeeds; four attempts are more than any case needs.
          server.wire = answer();
          const next = provider(server);
          let isThrough = false;
          for (let turn = 0; turn < 4 && !isThrough; turn += 1) {
            const token = await next.current(signal);
            isThrough = server.use(token);
            if (!isThrough) await next.renew(token, signal).catch(transientOnly);
          }
          expect(isThrough).toBe(true);
          const kept = await readCredentials(path);
          expect(server.use(kept.accessToken)).toBe(true);
          expect((await stat(path)).mode & 0o777).toBe(0o600);
          expect((await readdir(folder)).filter((file) => file.includes('.lock'))).toEqual([]);
          if (!voids) expect(server.invalidGrants).toBe(0);
        });
      }
    }
  }

  function transientOnly(error: unknown): void {
    expect(error).toMatchObject({ code: 'unreachable' });
  }

  test('the new pair is on disk before the new access token is handed out', async () => {
    const order: string[] = [];
    const disk: Disk = {
      write: async (at, text) => {
        order.push('write');
        await systemDisk.write(at, text);
      },
      sync: async (at) => {
        order.push('sync');
        await systemDisk.sync(at);
      },
      rename: async (from, to) => {
        order.push('rename');
        await systemDisk.rename(from, to);
      },
      syncFolder: async (at) => {
        order.push('syncFolder');
        await systemDisk.syncFolder(at);
      },
    };
    await provider(new TokenServer(), disk)
      .renew('at_old', signal)
      .then(() => order.push('handed out'));
    expect(order).toEqual(['write', 'sync', 'rename', 'syncFolder', 'handed out']);
  });

  test('a full disk is reported, and the old refresh token still works when there is room', async () => {
    const server = new TokenServer();
    const full: Disk = {
      ...systemDisk,
      write: async () => {
        throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      },
    };
    await expect(provider(server, full).renew('at_old', signal)).rejects.toMatchObject({
      code: 'database_full',
    });
    expect(server.use(await provider(server).renew('at_old', signal))).toBe(true);
    expect(server.invalidGrants).toBe(0);
  });
});

describe('refreshing token: the credentials file', () => {
  test('a credentials file that others can read is rejected, with the fix', async () => {
    await chmod(path, 0o640);
    await expect(readCredentials(path)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('mode 640'),
      about: { hint: `chmod 600 ${path}` },
    });
  });

  test.each([
    ['nothing', ''],
    ['no object', 'null'],
    ['no access token', JSON.stringify({ ...stored, accessToken: '' })],
    ['a nonsense expiry', JSON.stringify({ ...stored, expiresAt: 'soon' })],
  ])('a credentials file with %s is rejected without being quoted', async (_, text) => {
    await writeFile(path, text);
    const refusal = readCredentials(path);
    await expect(refusal).rejects.toMatchObject({ code: 'reauthorize' });
    await expect(refusal).rejects.not.toThrow(/rt_0|sk_test_1/);
  });

  test('a credentials file that an editor saved with a byte order mark is read', async () => {
    await writeFile(path, `\uFEFF${JSON.stringify(stored)}`);
    expect(await readCredentials(path)).toMatchObject({ accessToken: stored.accessToken });
  });

  test('a missing credentials file asks for a sign-in', async () => {
    await expect(readCredentials(join(folder, 'none.json'))).rejects.toMatchObject({
      code: 'reauthorize',
      about: { hint: expect.stringContaining('rosterd connect') },
    });
  });

  test('a credentials file written over one that others can read is private', async () => {
    await writeFile(`${path}.new`, 'leftover', { mode: 0o666 });
    await writeCredentials(path, stored);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, 'utf8')).toContain('at_old');
  });
});

test.each([
  ['without a readable reason, which is retried', 400, '<html>Bad request</html>', 'contract_broken'],
  ['without a reason and with 401, which is retried', 401, '<html>Sign in</html>', 'contract_broken'],
  ['with a reason, which a person must remove', 400, { error: 'unsupported_grant_type' }, 'refused'],
  ['of a wrong client secret, which a person must replace', 401, { error: 'invalid_client' }, 'refused'],
])(
  'refreshing token: a refusal of the token endpoint %s, is none of the request',
  async (_, status, body, code) => {
    const server = new TokenServer();
    server.wire = async () => response(status, body);
    const refusal = await provider(server)
      .renew('at_old', signal)
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code });
    if (code === 'refused')
      expect(refusal).toMatchObject({ about: { hint: expect.stringContaining('clientSecret') } });
    expect(refusal).not.toHaveProperty('about.status');
    expect(await readCredentials(path)).toEqual(stored);
  },
);
