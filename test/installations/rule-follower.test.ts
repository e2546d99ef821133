import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { FollowedSource } from '../../src/installations/ports.js';
import { FakeApplication } from './fake-application.js';
import { FollowingWorld, hours, source, worldWith } from './following-fixture.js';

/** Returns the seconds between two requests for the list, in a time with a turn whenever one is due. */
async function listed(world: FollowingWorld, millis: number): Promise<readonly number[]> {
  const times: number[] = [];
  const { fault } = world;
  world.fault = (call, after) => {
    if (call === 'list' && !after) times.push(world.clock.monotonic());
    fault(call, after);
  };
  await world.pass(world.start(), millis);
  return times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1000);
}

test.each([
  [0, 3_420],
  [0.5, 3_600],
  [1, 3_780],
])('installations are listed each hour, five hundredths sooner or later (%d)', async (fraction, seconds) => {
  const world = new FollowingWorld();
  world.random = { ...world.random, fraction: () => fraction };
  expect(await listed(world, 2.2 * hours)).toEqual([seconds, seconds]);
});

test('a listing that fails is repeated after a minute, then after twice as long each time, up to an hour', async () => {
  const world = new FollowingWorld();
  world.fault = (call) => {
    if (call === 'list') throw new Fault('platform_error', 'away');
  };
  expect(await listed(world, 4 * hours)).toEqual([60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
});

test('a reload that finds no failure lists nothing again', async () => {
  const { world, follower } = await worldWith('Acme');
  const asked = world.application.calls.length;
  follower.retry();
  await world.settle(follower);
  expect(world.application.calls).toHaveLength(asked);
});

test('of many missing installations, a hundred are looked at after each listing, in turn, and none after a 429', async () => {
  const world = new FollowingWorld();
  for (let n = 0; n < 150; n += 1) world.application.install(`co_${n}`, `Company ${n}`);
  const follower = world.start();
  await world.settle(follower);
  world.application.hidden = () => true;
  const looked = async () => {
    world.application.calls.length = 0;
    await world.pass(follower, 1.1 * hours);
    return world.application.calls.flatMap((call) => (call.startsWith('get') ? [Number(call.slice(9))] : []));
  };
  const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
  expect(await looked()).toEqual(upTo(1, 100));
  expect(await looked()).toEqual([...upTo(101, 150), ...upTo(1, 50)]);
  const retryAt = new Date(world.clock.now() + 2 * hours).toISOString() as never;
  world.fault = (call) => {
    if (call.startsWith('get')) throw new Fault('rate_limited', 'spent', { retryAt });
  };
  expect(await looked()).toEqual([51]);
  world.fault = () => {};
  expect(await looked()).toEqual(upTo(51, 150));
});

test('a token that was stored right before a crash is used at once, although another may not be asked for yet', async () => {
  const world = new FollowingWorld();
  const id = world.application.install('co_Acme', 'Acme');
  world.fault = (call, after) => {
    if (call.startsWith('write') && after) throw new Error('the process died');
  };
  const { signal } = new AbortController();
  const dying = world.start();
  for (let turn = 0; turn < 2; turn += 1) await dying.turn(signal);
  world.fault = () => {};
  await world.settle(world.start());
  expect([world.names(), world.application.minted(id)]).toEqual([['acme'], 1]);
});

test('a missing installation that cannot be looked at keeps no other one from its end', async () => {
  const { world, follower, ids, first } = await worldWith('Acme', 'Beta');
  for (const id of ids) {
    world.application.revoke(id);
    world.application.drop(id);
  }
  world.fault = (call) => {
    if (call === `get ${first}`) throw new Fault('platform_error', 'away');
  };
  await world.pass(follower, 1.1 * hours);
  expect([world.row('acme')?.state, world.row('beta')?.state]).toEqual(['connected', 'disconnected']);
});

test.each(['list', 'get inst_2'])(
  'a daemon that stops during %s sends no other request and reports no failure',
  async (stopped) => {
    const { world } = await worldWith('Acme', 'Beta', 'Gamma');
    world.application.hidden = (id) => id !== 'inst_1';
    const stop = new AbortController();
    world.fault = (call) => {
      if (call !== stopped) return;
      stop.abort();
      throw new Fault('stopped', 'stopped before the end');
    };
    const follower = world.start();
    world.application.calls.length = 0;
    world.errors.length = 0;
    for (let turn = 0; turn < 2; turn += 1) await follower.turn(stop.signal);
    expect([world.application.calls.at(-1), world.errors]).toEqual([stopped, []]);
  },
);

test('a rule asks for no token of an installation that another rule found', async () => {
  const world = new FollowingWorld();
  world.application.install('co_Acme', 'Acme');
  world.fault = (call) => {
    if (call.startsWith('mint')) throw new Fault('refused', 'not now', { status: 409, type: 'conflict' });
  };
  const other = new FakeApplication(() => world.clock.now());
  world.rules = [{ rule: 'other', api: other }, {}];
  await world.pass(world.start(), 2 * hours);
  expect(world.row('acme')?.state).toBe('waiting');
  expect(new Set(other.calls)).toEqual(new Set(['list']));
});

test.each(['connected', 'disconnected'] as const)(
  'the token of a replaced installation stays for another source that has it (the replaced one was %s)',
  async (state) => {
    const { world, first } = await worldWith('Acme');
    // As an earlier version stored it.
    const row = world.row('acme') as FollowedSource;
    const reason = state === 'connected' ? null : 'excepted';
    world.store.rows.set('acme', { ...row, state, reason });
    world.store.rows.set('acme-2', { ...row, source: source('acme-2'), rule: 'beside' });
    const away = new FakeApplication(() => world.clock.now());
    away.fault = () => {
      throw new Fault('platform_error', 'away');
    };
    world.rules = [{}, { rule: 'beside', api: away }];
    world.application.revoke(first);
    const second = world.application.install('co_Acme', 'Acme');
    await world.pass(world.start(), 10_000);
    expect([world.row('acme')?.installation, world.row('acme-2')?.installation]).toEqual([second, first]);
    expect(world.tokenOf(first)).not.toBeNull();
  },
);

test('a token that cannot be removed before its installation is replaced keeps no other source from its end', async () => {
  const { world, ids, first } = await worldWith('Acme', 'Beta');
  const fault = new Fault('usage', 'the vault entry cannot be written');
  world.fault = (call) => {
    if (call === `remove installation/${first}`) throw fault;
  };
  for (const id of ids) world.application.revoke(id);
  const second = world.application.install('co_Acme', 'Acme');
  const follower = world.start();
  await world.settle(follower);
  expect(world.row('beta')).toMatchObject({ state: 'disconnected', reason: 'revoked' });
  expect([world.row('acme')?.installation, world.errors.at(-1)]).toEqual([first, fault]);
  world.fault = () => {};
  await world.pass(follower, 10 * 60_000);
  expect([world.synced.map((row) => row.installation), world.tokenOf(first)]).toEqual([[second], null]);
});

test('a source whose installation ended before that was noticed is erased once the other daemons had time to notice it', async () => {
  const { world, first } = await worldWith('Acme');
  world.application.revoke(first);
  world.clock.advance(1 * hours);
  world.rules = [{ keepDays: 0 }];
  world.noticeMillis = 10_000;
  const follower = world.start();
  const { signal } = new AbortController();
  await follower.turn(signal);
  expect([await follower.turn(signal), world.row('acme')?.state]).toEqual([10_000, 'disconnected']);
  world.clock.advance(9_999);
  await follower.turn(signal);
  expect(world.erasures).toEqual([]);
  world.clock.advance(1);
  await follower.turn(signal);
  expect(world.erasures).toEqual(['acme']);
});

test('a token that was stored after another daemon gave its source another installation is removed', async () => {
  const world = new FollowingWorld();
  const id = world.application.install('co_Acme', 'Acme');
  world.fault = (call, after) => {
    const row = world.row('acme');
    if (row === undefined || !after || call !== `mint ${id}`) return;
    world.store.rows.set('acme', { ...row, installation: 'inst_new' as never, mints: 0 });
  };
  const follower = world.start();
  for (let turn = 0; turn < 2; turn += 1) await follower.turn(new AbortController().signal);
  expect([world.application.minted(id), [...world.tokens]]).toEqual([1, []]);
});
