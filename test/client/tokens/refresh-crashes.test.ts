import { readdir, rm, stat } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readCredentials } from '../../../src/client/tokens/credentials-file.js';
import { type Disk, systemDisk } from '../../../src/runtime/replace-file.js';
import { openSignIn, type SignIn } from './signed-in.js';
import { TokenServer, type Wire } from './token-server.js';

const signal = new AbortController().signal;

let { folder, path, provider } = {} as SignIn;
beforeEach(async () => {
  ({ folder, path, provider } = await openSignIn());
});
afterEach(() => rm(folder, { recursive: true }));

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
