import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { InstallationId } from '../../src/domain/ids.js';
import { type Random, seededRandom } from '../../src/runtime/random.js';
import { testSeed } from '../support/chance.js';
import { days, FollowingWorld, hours } from './following-fixture.js';

/*
 * Companies install, revoke and install again while events are lost and doubled, the platform fails, its list lacks
 * entries, and the process dies before or after any step that lasts. Afterwards everything comes to rest, and the sources
 * have to equal the installations.
 */

/** The process died. It is not a fault, so nothing can handle it. */
class Death extends Error {}

const companies = ['co_a', 'co_b', 'co_c', 'co_d', 'co_e', 'co_f'];
const keepDays = 3;

async function live(random: Random): Promise<{ readonly world: FollowingWorld; readonly deaths: number }> {
  let deaths = 0;
  const world = new FollowingWorld();
  world.rules = [{ keepDays }];
  const chance = (share: number) => random.fraction() < share;
  const pick = <Item>(items: readonly Item[]): Item | undefined =>
    items[Math.floor(random.fraction() * items.length)];
  let isMean = true;
  let isDead = false;
  let follower = world.start();
  world.fault = (call, after) => {
    if (!isMean) return;
    // A dead process does nothing more.
    isDead ||= chance(0.02);
    if (isDead) throw new Death();
    const isRequest = /^(?:list|get|mint|accepts)/.test(call);
    if (isRequest && chance(0.05)) throw new Fault('unreachable', 'the connection was reset');
    // The answer was lost after the platform had acted.
    if (isRequest && after && chance(0.05)) throw new Fault('platform_error', 'the platform answered 502');
  };

  const events: InstallationId[] = [];
  for (let step = 0; step < 150; step += 1) {
    const active = world.application.active();
    const dice = random.fraction();
    if (dice < 0.2) {
      const company = pick(companies.filter((one) => active.every(({ target }) => target !== one)));
      if (company !== undefined) events.push(world.application.install(company));
    } else if (dice < 0.35) {
      const one = pick(active);
      if (one !== undefined) {
        world.application.revoke(one.id);
        events.push(one.id);
      }
    } else if (dice < 0.4) {
      const one = pick(active);
      if (one !== undefined) world.application.refuseTokens(one.id);
    } else if (dice < 0.45) {
      const hidden = new Set(
        world.application
          .all()
          .filter(() => chance(0.4))
          .map(({ id }) => id as string),
      );
      world.application.hidden = (id) => hidden.has(id);
    } else if (dice < 0.55) world.application.hidden = () => false;
    // Events arrive out of order, twice or not at all.
    const event = pick(events);
    if (event !== undefined && chance(0.6)) follower.events.add(event);
    for (const row of world.synced)
      if (!world.application.isValid(world.tokenOf(row.installation))) follower.refused.add(row.source);
    const before = world.clock.now();
    await follower.turn(new AbortController().signal);
    if (isDead) {
      deaths += 1;
      isDead = false;
      world.synced = [];
      follower = world.start();
    }
    expect(world.clock.now()).toBe(before);
    world.clock.advance(random.fraction() * 2 * hours);
    // Only a crash while an installation is replaced leaves a source without a token for a moment.
    for (const { id } of world.application.active())
      if (world.synced.some(({ installation }) => installation === id))
        expect(world.tokenOf(id)).not.toBeNull();
  }

  isMean = false;
  world.application.hidden = () => false;
  await world.pass(follower, 2 * days);
  for (const row of world.synced)
    if (!world.application.isValid(world.tokenOf(row.installation))) follower.refused.add(row.source);
  await world.pass(follower, 2 * days);
  await world.pass(follower, (keepDays + 1) * days);
  return { world, deaths };
}

const seeds = Array.from({ length: 40 }, (_, index) => testSeed * 1_000 + index);

test.each(seeds)(
  'seed %i: in the end sources equal installations and revoked companies are erased',
  async (seed) => {
    const { world, deaths } = await live(seededRandom(seed));
    const { application, store } = world;

    expect(world.synced.map(({ installation }) => installation).sort()).toEqual(
      application
        .active()
        .map(({ id }) => id)
        .sort(),
    );
    for (const row of world.synced) expect(application.isValid(world.tokenOf(row.installation))).toBe(true);
    // A company has one source, whatever its installations were.
    expect(new Set(world.names()).size).toBe(world.synced.length);
    const targets = [...store.rows.values()].map(({ target }) => target);
    expect(new Set(targets).size).toBe(targets.length);
    const active = new Set(application.active().map(({ target }) => target));
    for (const row of store.rows.values()) {
      if (active.has(row.target)) continue;
      // A source that never had a token has no rows to erase.
      expect(row.connectedAt === null ? 'erased' : row.state).toBe('erased');
    }
    const kept = new Set(world.synced.map(({ installation }) => `installation/${installation}`));
    expect([...world.tokens.keys()].filter((key) => !kept.has(key))).toEqual([]);
    for (const { id } of application.all()) expect(application.minted(id)).toBeLessThan(30);
    expect(deaths).toBeGreaterThan(0);
  },
);
