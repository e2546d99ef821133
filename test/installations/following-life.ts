import { Fault } from '../../src/domain/fault.js';
import type { InstallationId } from '../../src/domain/ids.js';
import { millisOf } from '../../src/domain/instant.js';
import { type Random, seededRandom } from '../../src/runtime/random.js';
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

/** The world at its end, and what was wrong on the way. */
interface Lived {
  readonly world: FollowingWorld;
  readonly deaths: number;
  readonly wrong: readonly string[];
}

async function live(random: Random): Promise<Lived> {
  const wrong: string[] = [];
  let deaths = 0;
  /** Turns since the last start: the first only syncs what is stored, the second removes what a crash left. */
  let turnsAlive = 0;
  const world = new FollowingWorld();
  world.rules = [{ keepDays }];
  const chance = (share: number) => random.fraction() < share;
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
    const happened = befall(world, random);
    if (happened !== undefined) events.push(happened);
    // Events arrive out of order, twice or not at all.
    const event = pick(random, events);
    if (event !== undefined && chance(0.6)) follower.events.add(event);
    for (const row of world.synced)
      if (!world.application.isValid(world.tokenOf(row.installation))) follower.refused.add(row.source);
    const before = world.clock.now();
    await follower.turn(new AbortController().signal);
    turnsAlive += 1;
    if (isDead) {
      turnsAlive = 0;
      deaths += 1;
      isDead = false;
      world.synced = [];
      follower = world.start();
    }
    if (world.clock.now() !== before) wrong.push('a turn waited by itself');
    if (turnsAlive > 1) wrong.push(...leftBehind(world));
    world.clock.advance(random.fraction() * 2 * hours);
    // Only a crash while an installation is replaced leaves a source without a token for a moment.
    for (const { id } of world.application.active())
      if (world.synced.some(({ installation }) => installation === id))
        if (world.tokenOf(id) === null) wrong.push(`${id} is synced without a token`);
  }

  isMean = false;
  world.application.hidden = () => false;
  await world.pass(follower, 2 * days);
  for (const row of world.synced)
    if (!world.application.isValid(world.tokenOf(row.installation))) follower.refused.add(row.source);
  await world.pass(follower, 2 * days);
  await world.pass(follower, (keepDays + 1) * days);
  return { world, deaths, wrong };
}

const pick = <Item>(random: Random, items: readonly Item[]): Item | undefined =>
  items[Math.floor(random.fraction() * items.length)];

/** Lets something happen to a company or to the list of the platform. Returns the installation that an event names. */
function befall({ application }: FollowingWorld, random: Random): InstallationId | undefined {
  const active = application.active();
  const dice = random.fraction();
  if (dice < 0.2) {
    const company = pick(
      random,
      companies.filter((one) => active.every(({ target }) => target !== one)),
    );
    return company === undefined ? undefined : application.install(company);
  }
  if (dice < 0.4) {
    const one = pick(random, active);
    if (one === undefined) return undefined;
    if (dice >= 0.35) {
      application.refuseTokens(one.id);
      return undefined;
    }
    application.revoke(one.id);
    return one.id;
  }
  if (dice < 0.45) {
    const some = application.all().filter(() => random.fraction() < 0.4);
    const hidden = new Set(some.map(({ id }) => id as string));
    application.hidden = (id) => hidden.has(id);
  } else if (dice < 0.55) application.hidden = () => false;
  return undefined;
}

/** Tokens of sources that ended, and sources that ended although the platform accepts their tokens. */
function leftBehind(world: FollowingWorld): readonly string[] {
  const { application, store } = world;
  const accepted = new Map(application.active().map(({ id, tokens }) => [id, tokens.length > 0]));
  return [...store.rows.values()].flatMap(({ source, state, reason, installation, connectedAt }) => {
    if (state !== 'disconnected') return [];
    // One that never had a token has nothing to lose, and waits again as soon as it is seen.
    if (reason === 'gone' && connectedAt !== null && accepted.get(installation) === true)
      return [`${source} ended although its installation is active`];
    return world.tokenOf(installation) === null ? [] : [`${source} ended and has a token`];
  });
}

/** More requests for tokens of one installation than crashes and lost answers explain. */
const mintsMax = 30;

/** Lives one world. Returns what is wrong with it: sources that do not equal installations, or anything left behind. */
export async function livedWrongly(seed: number): Promise<readonly string[]> {
  const { world, deaths, wrong } = await live(seededRandom(seed));
  const { application, store } = world;
  const found = [...wrong];
  const check = (isFine: boolean, text: string) => {
    if (!isFine) found.push(text);
  };
  const installed = application.active().map(({ id }) => id);
  const synced = world.synced.map(({ installation }) => installation);
  check(
    installed.toSorted().join() === synced.toSorted().join(),
    `${synced.join()} is synced, not ${installed.join()}`,
  );
  for (const { source, installation } of world.synced)
    check(application.isValid(world.tokenOf(installation)), `the token of ${source} is not valid`);
  check(new Set(world.names()).size === world.synced.length, 'two sources have one name');
  const rows = [...store.rows.values()];
  check(new Set(rows.map(({ target }) => target)).size === rows.length, 'a company has two sources');
  const active = new Set(application.active().map(({ target }) => target));
  // A source that never had a token has no rows to erase.
  for (const { source, state, target, connectedAt } of rows)
    check(
      active.has(target) || connectedAt === null || state === 'erased',
      `${source} is ${state}, not erased`,
    );
  for (const { source, state, installation, mints, erasedAt, disconnectedAt } of rows) {
    check(application.minted(installation) <= mints, `${source} counts fewer tokens than it asked for`);
    if (state !== 'erased' || erasedAt === null || disconnectedAt === null) continue;
    const keptMillis = millisOf(erasedAt) - millisOf(disconnectedAt);
    check(keptMillis >= keepDays * days, `${source} was erased too early`);
  }
  const kept = new Set(synced.map((installation) => `installation/${installation}`));
  for (const key of world.tokens.keys()) check(kept.has(key), `the token ${key} was left behind`);
  for (const { id } of application.all())
    check(application.minted(id) < mintsMax, `${id} was asked for ${application.minted(id)} tokens`);
  check(deaths > 0, 'the process never died');
  return found;
}
