import { describe, expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import type { Holdings } from '../../src/fleet/ports.js';
import { shareOf } from '../../src/fleet/share.js';
import fc from '../support/property.js';

const names = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `s${String(from + n).padStart(4, '0')}` as SourceName);

/** Members and the sources they hold. Members recompute their shares one after the other until nothing changes. */
class World {
  readonly members = new Map<string, readonly SourceName[]>();
  readonly held = new Map<SourceName, string>();
  moved = 0;

  holdings(): Holdings {
    const members = [...this.members].map(([member, sources]) => ({ member, sources }));
    const held = [...this.held].filter(([, member]) => this.members.has(member));
    return { members, held: new Map(held) };
  }

  turn(me: string): boolean {
    const seen = this.holdings();
    const { take, release } = shareOf(me, seen);
    for (const source of release) this.held.delete(source);
    for (const source of take) {
      expect(seen.held.has(source)).toBe(false);
      this.held.set(source, me);
    }
    this.moved += take.length;
    return take.length + release.length > 0;
  }

  settle(): void {
    for (let round = 0; round < 50; round += 1)
      if (![...this.members.keys()].map((member) => this.turn(member)).includes(true)) return;
    throw new Error('the shares never settled');
  }

  counts(): number[] {
    const held = [...this.holdings().held.values()];
    return [...this.members.keys()].map((member) => held.filter((one) => one === member).length);
  }
}

describe('share', () => {
  test('share: a thousand sources on three members are 334, 333 and 333, whoever comes first', () => {
    const world = new World();
    const sources = names(1_000);
    world.members.set('a', sources);
    world.settle();
    expect(world.counts()).toEqual([1_000]);
    world.members.set('b', sources);
    world.members.set('c', sources);
    world.settle();
    expect(world.counts().sort()).toEqual([333, 333, 334]);
  });

  test('share: the sources of a dead member are divided among the others, and no other source moves', () => {
    const world = new World();
    const sources = names(999);
    for (const member of ['a', 'b', 'c']) world.members.set(member, sources);
    world.settle();
    world.members.delete('b');
    world.moved = 0;
    world.settle();
    expect(world.counts().sort()).toEqual([499, 500]);
    expect(world.moved).toBe(333);
  });

  test('share: a single source stays where it is, whoever joins', () => {
    const world = new World();
    world.members.set('m', names(1));
    world.settle();
    for (const member of ['a', 'z']) world.members.set(member, names(1));
    world.settle();
    expect(world.counts()).toEqual([1, 0, 0]);
  });

  test('share: a source that only one member can work is always taken, and does not reduce the share of the others', () => {
    const world = new World();
    world.members.set('a', [...names(4), ...names(6, 100)]);
    world.members.set('b', names(4));
    world.settle();
    expect(world.counts()).toEqual([8, 2]);
    world.members.set('a', names(4));
    world.settle();
    expect(world.counts()).toEqual([2, 2]);
  });

  test('share: busy sources are released last', () => {
    const held = new Map(names(4).map((source) => [source, 'a']));
    const members = ['a', 'b'].map((member) => ({ member, sources: names(4) }));
    const busy = new Set(names(2));
    expect(shareOf('a', { members, held }, (source) => busy.has(source)).release).toEqual(names(2, 2));
  });

  test('share: of members that hold equally many, the first by name takes the remainder, in whatever order they are read', () => {
    const [, ...taken] = names(4);
    const held = new Map(taken.map((source, index) => [source, ['c', 'a', 'b'][index] ?? '']));
    for (const read of ['abc', 'cab', 'bca', 'cba']) {
      const members = [...read].map((member) => ({ member, sources: names(4) }));
      const takes = ['a', 'b', 'c'].map((member) => shareOf(member, { members, held }).take.length);
      expect([read, takes]).toEqual([read, [1, 0, 0]]);
    }
  });

  test('share: any history ends with every source held once and no member more than one ahead', () => {
    const member = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const event = fc.record({ member, comes: fc.boolean(), first: member });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(event, { maxLength: 12 }), (count, events) => {
        const world = new World();
        world.members.set('z', names(count));
        for (const { member: one, comes, first } of events) {
          if (comes) world.members.set(one, names(count));
          else world.members.delete(one);
          if (world.members.has(first)) world.turn(first);
        }
        world.settle();
        expect(world.holdings().held.size).toBe(count);
        expect(Math.max(...world.counts()) - Math.min(...world.counts())).toBeLessThanOrEqual(1);
      }),
    );
  });
});
