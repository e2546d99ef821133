import { afterAll, beforeAll, expect, test } from 'vitest';
import { findClient } from '../../../src/platform/oauth/clients.js';
import { mintToken } from '../../../src/platform/oauth/mint.js';
import { settle } from '../../../src/platform/oauth/pairs.js';
import { rotate } from '../../../src/platform/oauth/rotate.js';
import { digestOf } from '../../../src/platform/state/secrets.js';
import { one } from '../../../src/platform/state/statements.js';
import { makeClient, type TestClient, userNo } from '../../conformance/credentials.js';
import { type RunningPlatform, startPlatform } from '../../conformance/running-platform.js';
import fc from '../../support/property.js';

/**
 * Two holders share the refresh token of one family. For random sequences of their actions, the server must behave like
 * the model and never let both continue.
 */
let world: RunningPlatform;
let client: TestClient;
beforeAll(async () => {
  world = await startPlatform({ records: 1 });
  client = makeClient(world);
});
afterAll(() => world.close());

interface Pair {
  readonly access: string;
  readonly refresh: string;
}

/** The specification as a tree of pairs: each pair is a child of the pair whose refresh token was presented. */
class Model {
  readonly pairs: Pair[] = [];
  readonly #parents = new Map<Pair, Pair>();
  readonly #used = new Set<Pair>();
  /** Pairs ended by the first use of a pair that is not their ancestor. */
  readonly #ended = new Set<Pair>();
  revoked = false;

  refreshWorks(pair: Pair): boolean {
    return !this.revoked && !this.#ended.has(pair);
  }

  /** A used access token stays valid; an unused one ends with its pair. */
  accessWorks(pair: Pair): boolean {
    return !this.revoked && (this.#used.has(pair) || !this.#ended.has(pair));
  }

  used(pair: Pair): void {
    if (!this.accessWorks(pair) || this.#used.has(pair)) return;
    this.#used.add(pair);
    for (const other of this.pairs) if (!this.#isBelow(other, pair)) this.#ended.add(other);
  }

  presented(pair: Pair, next: Pair | null): void {
    if (!this.refreshWorks(pair)) this.revoked = true;
    else if (next !== null) {
      this.pairs.push(next);
      this.#parents.set(next, pair);
    }
  }

  #isBelow(pair: Pair, top: Pair): boolean {
    for (let at: Pair | undefined = pair; at !== undefined; at = this.#parents.get(at))
      if (at === top) return true;
    return false;
  }
}

type Step = readonly [holder: 0 | 1, what: 'refresh' | 'use' | 'older', keeps: boolean];

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom(0, 1),
  fc.constantFrom('refresh', 'use', 'older'),
  fc.boolean(),
);

function refreshed(presented: string): Pair | null {
  const found = findClient(world.services.state, client.clientId);
  if (found === undefined) throw new Error('the client does not exist');
  const outcome = rotate(world.services, found, presented, [], 2);
  return outcome.kind === 'issued'
    ? { access: outcome.pair.token, refresh: outcome.pair.refreshToken }
    : null;
}

/** Like `identify`: an invalid token does not count as used. */
function use(access: string): boolean {
  const row = one<{ no: number; revoked_at: number | null; first_used_at: number | null }>(
    world.services.state,
    'SELECT no, revoked_at, first_used_at FROM access_tokens WHERE digest = ?',
    [digestOf(access)],
  );
  if (row === undefined || row.revoked_at !== null) return false;
  if (row.first_used_at === null) settle(world.services, row.no, 3);
  return true;
}

function aliveRefreshTokens(pairs: readonly Pair[]): number {
  return pairs.filter(
    (pair) =>
      one(world.services.state, 'SELECT 1 FROM refresh_tokens WHERE digest = ? AND ended_at IS NULL', [
        digestOf(pair.refresh),
      ]) !== undefined,
  ).length;
}

test('OAUTH-19 OAUTH-20 two holders of one refresh token get the responses of the model in any order of requests', () => {
  const { applicationNo, clientId, realm } = client;
  const user = userNo(world, 'ida@people.example');
  const wish = {
    kind: 'user',
    realm,
    applicationNo,
    clientId,
    userNo: user,
    scopes: ['read:profile'],
  } as const;
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 14 }), (steps) => {
      const minted = mintToken(world.services, wish, 1);
      const start: Pair = { access: minted.token, refresh: minted.refreshToken };
      const model = new Model();
      model.pairs.push(start);
      const held: [Pair[], Pair[]] = [[start], [start]];
      for (const [holder, what, keeps] of steps) {
        const own = held[holder];
        const pair = (what === 'older' ? own.at(-2) : undefined) ?? own.at(-1) ?? start;
        if (what === 'use') {
          expect(use(pair.access)).toBe(model.accessWorks(pair));
          model.used(pair);
          continue;
        }
        const should = model.refreshWorks(pair);
        const next = refreshed(pair.refresh);
        expect(next !== null).toBe(should);
        model.presented(pair, next);
        // A lost response leaves the holder with its previous pair.
        if (next !== null && keeps) own.push(next);
      }
      const alive = model.pairs.filter((pair) => model.refreshWorks(pair));
      expect(aliveRefreshTokens(model.pairs)).toBe(alive.length);
      // The first holder to use its own pair ends the pair of the other.
      const [mine, theirs] = held.map((own) => own.at(-1));
      if (mine === undefined || theirs === undefined || mine === theirs) return;
      if (!use(mine.access)) return;
      model.used(mine);
      expect(refreshed(theirs.refresh) !== null).toBe(model.refreshWorks(theirs));
    }),
    { numRuns: 1000 },
  );
});
