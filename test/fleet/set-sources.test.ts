import { expect, onTestFinished, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import { beatMillis, createFleet, type Fleet } from '../../src/fleet/fleet.js';
import { FleetMembership } from '../../src/fleet/membership.js';
import type { FleetEars, FleetStore } from '../../src/fleet/ports.js';
import type { Lane } from '../../src/inbox/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';

const names = (...all: string[]) => all as SourceName[];

/** The tables of a fleet in memory. A member lives unless it is silent. */
class Tables {
  readonly members = new Map<string, readonly SourceName[]>();
  readonly held = new Map<SourceName, string>();
  readonly ears = new Map<string, FleetEars>();
  joins = 0;
  /** Members whose heartbeats do not arrive. */
  readonly silent = new Set<string>();
  /** What the heartbeats of a member wait for. */
  readonly late = new Map<string, Promise<void>>();
  /** Thrown by the next registration. */
  fault: Error | null = null;

  readonly open = (member: string, ears: FleetEars): FleetStore => {
    this.ears.set(member, ears);
    return {
      join: async (sources) => {
        const fault = this.fault;
        this.fault = null;
        if (fault !== null) throw fault;
        this.joins += 1;
        this.members.set(member, sources);
      },
      beat: async () => {
        await this.late.get(member);
        if (this.silent.has(member)) throw new Fault('database_busy', 'no connection is left');
        if (!this.members.has(member)) return null;
        return {
          late: false,
          members: [...this.members.keys()].map((one) => ({
            member: one,
            joinedAt: one as Instant,
            alive: !this.silent.has(one),
            holds: [...this.held.values()].filter((holder) => holder === one).length,
            spaced: [],
          })),
        };
      },
      holdings: async () => ({
        members: [...this.members].map(([one, sources]) => ({ member: one, sources })),
        held: new Map(this.held),
      }),
      take: async (sources) => {
        const free = sources.filter((source) => !this.held.has(source));
        for (const source of free) this.held.set(source, member);
        return free;
      },
      release: async (sources) => {
        for (const source of sources) if (this.held.get(source) === member) this.held.delete(source);
      },
      markDead: async () => {},
      leave: async () => {
        this.members.delete(member);
        for (const [source, holder] of this.held) if (holder === member) this.held.delete(source);
      },
      tell: async (message) => {
        for (const [other, { onMessage }] of this.ears) if (other !== member) onMessage(message);
      },
      close: async () => {},
    };
  };

  heldBy(member: string): readonly SourceName[] {
    return [...this.held].flatMap(([source, holder]) => (holder === member ? [source] : [])).sort();
  }
}

interface Member {
  readonly fleet: Fleet;
  readonly followed: Set<SourceName>;
  /** How often it began to lead. */
  readonly led: () => number;
}

async function started(
  tables: Tables,
  clock: VirtualClock,
  member: string,
  sources: SourceName[],
): Promise<Member> {
  const followed = new Set<SourceName>();
  let led = 0;
  const fleet = createFleet({
    open: tables.open,
    member,
    sources,
    clock,
    logger: silentLogger,
    isGone: () => false,
    follow: (taken) => {
      for (const source of taken) followed.add(source);
    },
    leave: async (source) => void followed.delete(source),
    isBusy: () => false,
    spaced: () => [],
    onSpaced: () => {},
    onMessage: () => {},
    onLook: () => {},
    onLead: () => {
      led += 1;
    },
  });
  onTestFinished(() => fleet.close());
  await fleet.start();
  return { fleet, followed, led: () => led };
}

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
