import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { FollowingWorld, hours, installation, worldWith } from './following-fixture.js';

test('fifty events lead to a request each, more to one listing', async () => {
  const { world, follower } = await worldWith('Acme');
  const calls = async (events: number) => {
    world.application.calls.length = 0;
    for (let index = 0; index < events; index += 1) follower.events.add(installation(`inst_flood${index}`));
    await follower.turn(new AbortController().signal);
    return [...new Set(world.application.calls.map((call) => call.split(' ')[0]))];
  };
  expect([await calls(50), await calls(51)]).toEqual([['get'], ['list']]);
  expect(world.application.calls).toHaveLength(1);
});

test('installing everywhere at once costs one listing and one token each, although every install has an event', async () => {
  const { world, follower } = await worldWith('Acme');
  const before = world.application.calls.length;
  const ids = Array.from({ length: 200 }, (_, n) => world.application.install(`co_n${n}`, `Bulk ${n}`));
  const [early, late] = [ids.slice(0, 120), ids.slice(120)];
  for (const id of early) follower.events.add(id);
  // The other events arrive while the first token is asked for, which they interrupt.
  let isFirst = true;
  world.fault = (call, after) => {
    if (!isFirst || after || !call.startsWith('mint')) return;
    isFirst = false;
    for (const id of late) follower.events.add(id);
  };
  await world.settle(follower);
  expect(world.names()).toHaveLength(201);
  const calls = world.application.calls.slice(before);
  expect(calls.filter((call) => call.startsWith('mint'))).toHaveLength(200);
  expect(calls.filter((call) => call.startsWith('get'))).toEqual([]);
  expect(calls.filter((call) => call === 'list').length).toBeLessThanOrEqual(2);
});

test('an event for an installation that waits for its first token costs no request of its own, any other one does', async () => {
  const { world, first } = await worldWith('Acme');
  world.application.revoke(first);
  const ids = Array.from({ length: 20 }, (_, n) => world.application.install(`co_${n}`, `Company ${n}`));
  const again = world.application.install('co_Acme', 'Acme');
  const refused = ids[0] as string;
  const follower = world.start();
  // Events arrive while the first token is asked for, which they interrupt.
  let isFirst = true;
  world.fault = (call, after) => {
    if (after || !call.startsWith('mint')) return;
    if (call === `mint ${refused}`) throw new Fault('refused', 'not now', { status: 409, type: 'conflict' });
    if (!isFirst) return;
    isFirst = false;
    for (const id of [refused, again, ...ids.slice(10)]) follower.events.add(installation(id));
  };
  const { signal } = new AbortController();
  for (let turn = 0; turn < 2; turn += 1) await follower.turn(signal);
  const untried = ids.slice(10).filter((id) => world.application.minted(id) === 0);
  expect(untried.length).toBeGreaterThan(5);
  world.application.calls.length = 0;
  await follower.turn(signal);
  expect(world.application.calls.filter((call) => call.startsWith('get'))).toEqual([
    `get ${refused}`,
    `get ${again}`,
  ]);
  await world.settle(follower);
  expect(world.names()).toHaveLength(ids.length);
});

test('a new installation gets its token before thousands that wait for the quota', async () => {
  const { world, follower } = await worldWith();
  for (let n = 0; n < 40; n += 1) world.application.install(`co_${n}`, `Company ${n}`);
  world.fault = (call) => {
    if (call.startsWith('mint')) throw new Fault('rate_limited', 'the quota is used up');
  };
  await world.pass(follower, 2 * hours);
  const id = world.application.install('co_new', 'Zebra');
  follower.events.add(id);
  await world.pass(follower, 2 * hours);
  world.fault = () => {};
  const before = world.application.calls.length;
  await world.pass(follower, 2 * hours);
  const mints = world.application.calls.slice(before).filter((call) => call.startsWith('mint'));
  expect(mints[0]).toBe(`mint ${id}`);
  expect(world.names()).toHaveLength(41);
});

test('a thousand tokens change the set of sources a few times, not a thousand times', async () => {
  const world = new FollowingWorld();
  for (let n = 0; n < 1_000; n += 1) world.application.install(`co_${n}`, `Company ${n}`);
  let announced = 0;
  await world.settle(world.start(() => (announced += 1)));
  expect(world.names()).toHaveLength(1_000);
  expect(announced).toBeLessThanOrEqual(5);
});

test('companies are connected although an event for another one arrives during each request', async () => {
  const { world, follower } = await worldWith();
  let installs = 0;
  world.fault = (call, after) => {
    if (after || !/^(?:get|list)/.test(call)) return;
    installs += 1;
    follower.events.add(world.application.install(`co_${installs}`, `Company ${installs}`));
  };
  follower.events.add(world.application.install('co_0', 'Company 0'));
  for (let turn = 0; turn < 20; turn += 1) await follower.turn(new AbortController().signal);
  expect(installs).toBeGreaterThan(15);
  expect(world.names().length).toBeGreaterThan(15);
});
