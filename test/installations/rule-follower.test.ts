import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { FollowingWorld, hours, worldWith } from './following-fixture.js';

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

test('of many missing installations, a hundred are looked at after each listing, in turn', async () => {
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
  expect(await looked()).toEqual([...upTo(101, 150), ...upTo(1, 50)]);
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
