import { expect, onTestFinished, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import { beatMillis, type Fleet } from '../../src/fleet/fleet.js';
import { FleetMembership } from '../../src/fleet/membership.js';
import type { Lane } from '../../src/inbox/ports.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { names, started, Tables } from './fleet-in-memory.js';

test('setSources: a removed source is released at once, the others stay, and the member never leaves', async () => {
  const [tables, clock] = [new Tables(), new VirtualClock()];
  const { fleet, followed } = await started(tables, clock, 'one', names('a', 'b', 'c'));
  expect(tables.heldBy('one')).toEqual(['a', 'b', 'c']);
  fleet.setSources(names('a', 'c'));
  await settled();
  expect(tables.heldBy('one')).toEqual(['a', 'c']);
  expect([...followed].sort()).toEqual(['a', 'c']);
  expect([...tables.members]).toEqual([['one', ['a', 'c']]]);
  expect([fleet.holds('b' as SourceName), fleet.leads, fleet.held]).toEqual([false, true, 2]);
});

test('setSources: a source that ended and came back before the next heartbeat is followed anew', async () => {
  const [tables, clock] = [new Tables(), new VirtualClock()];
  const { fleet, followed } = await started(tables, clock, 'one', names('a', 'b'));
  // Its loop is gone, and a new one begins when it is followed.
  followed.delete('b' as SourceName);
  fleet.setSources(names('a'), names('b'));
  fleet.setSources(names('a', 'b'));
  await settled();
  expect([...followed].sort()).toEqual(['a', 'b']);
  expect(tables.heldBy('one')).toEqual(['a', 'b']);
});

test('setSources: sources that both members add are shared, and only those that one member removed move', async () => {
  const [tables, clock] = [new Tables(), new VirtualClock()];
  const one = await started(tables, clock, 'one', names('a', 'b'));
  const two = await started(tables, clock, 'two', names('a', 'b'));
  await clock.advance(4 * beatMillis);
  for (const { fleet } of [one, two]) fleet.setSources(names('a', 'b', 'c', 'd'));
  await clock.advance(4 * beatMillis);
  expect([tables.heldBy('one').length, tables.heldBy('two').length]).toEqual([2, 2]);
  const before = tables.heldBy('two');
  // The other member still works them, so this one has to give up what it holds of them.
  one.fleet.setSources(names('a', 'b'));
  await clock.advance(6 * beatMillis);
  expect(tables.held.size).toBe(4);
  expect(tables.heldBy('one').every((source) => ['a', 'b'].includes(source))).toBe(true);
  expect(tables.heldBy('two')).toEqual(
    expect.arrayContaining(before.filter((source) => !['a', 'b'].includes(source))),
  );
  expect([...one.followed].sort()).toEqual(tables.heldBy('one'));
});

test('setSources: registers once per change, and retries a registration that failed', async () => {
  const [tables, clock] = [new Tables(), new VirtualClock()];
  const { fleet } = await started(tables, clock, 'one', names('a'));
  await clock.advance(10 * beatMillis);
  expect(tables.joins).toBe(1);
  tables.fault = new Error('the database is away');
  fleet.setSources(names('a', 'b'));
  await settled();
  expect(tables.heldBy('one')).toEqual(['a']);
  await clock.advance(2 * beatMillis);
  expect(tables.heldBy('one')).toEqual(['a', 'b']);
  await clock.advance(10 * beatMillis);
  expect(tables.joins).toBe(2);
});

test('a leader whose heartbeats fail no longer leads once the others consider it dead, and leads again with the next one', async () => {
  const [tables, clock] = [new Tables(), new VirtualClock()];
  const [one, two] = [
    (await started(tables, clock, 'one', names('a', 'b'))).fleet,
    (await started(tables, clock, 'two', names('a', 'b'))).fleet,
  ];
  await clock.advance(4 * beatMillis);
  expect([one.leads, two.leads]).toEqual([true, false]);
  tables.silent.add('one');
  await clock.advance(2 * beatMillis);
  expect(one.leads).toBe(true);
  await clock.advance(4 * beatMillis);
  expect([one.leads, two.leads]).toEqual([false, true]);
  tables.silent.clear();
  await clock.advance(2 * beatMillis);
  expect([one.leads, two.leads]).toEqual([true, false]);
});

test('a leader whose heartbeat gets no answer leads no longer than the others believe it, until the answer comes', async () => {
  const [tables, clock] = [new Tables(), new VirtualClock()];
  const one = await started(tables, clock, 'one', names('a'));
  await started(tables, clock, 'two', names('a'));
  await clock.advance(4 * beatMillis);
  let answer = () => {};
  tables.late.set('one', new Promise<void>((resolve) => (answer = resolve)));
  onTestFinished(() => answer());
  await clock.advance(4 * beatMillis - 1);
  expect([one.fleet.leads, one.led()]).toEqual([true, 1]);
  await clock.advance(1);
  expect(one.fleet.leads).toBe(false);
  tables.late.clear();
  answer();
  await settled();
  expect([one.fleet.leads, one.led()]).toEqual([true, 2]);
});

test('what a member announces before it joined the fleet reaches the others once it has', async () => {
  const membership = new FleetMembership();
  membership.announceAccepted('a' as Lane);
  const told: unknown[] = [];
  membership.take({ tell: async (message: unknown) => void told.push(message) } as Fleet);
  await settled();
  expect(told).toEqual([{ kind: 'accepted', lanes: ['a'] }]);
});

test('a member counts another one as the leader only after a heartbeat, and not while no heartbeats arrive', async () => {
  const [tables, clock] = [new Tables(), new VirtualClock()];
  const membership = new FleetMembership();
  expect(membership.isLed).toBe(false);
  const [one, two] = [
    (await started(tables, clock, 'one', names('a'))).fleet,
    (await started(tables, clock, 'two', names('a'))).fleet,
  ];
  membership.take(one);
  await clock.advance(4 * beatMillis);
  expect([membership.isLed, two.isLed]).toEqual([false, true]);
  // As when the database is away: a leader that keeps its backups would delete the older ones if another one led.
  for (const member of ['one', 'two']) tables.silent.add(member);
  await clock.advance(6 * beatMillis);
  expect([membership.leads, membership.isLed, two.isLed]).toEqual([false, false, true]);
  tables.silent.clear();
  await clock.advance(2 * beatMillis);
  expect([membership.leads, membership.isLed, two.isLed]).toEqual([true, false, true]);
});

test('a leader that was alone leads on while its heartbeats fail', async () => {
  const [tables, clock] = [new Tables(), new VirtualClock()];
  const { fleet } = await started(tables, clock, 'one', names('a'));
  tables.silent.add('one');
  await clock.advance(10 * beatMillis);
  expect(fleet.leads).toBe(true);
});
