import { expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import { HeldSources } from '../../src/fleet/held-sources.js';
import { silentLogger } from '../../src/runtime/logger.js';

const names = (...all: string[]) => all as SourceName[];

/** Member `one` holds four sources, each with a tick that runs, when member `two` joins. */
async function joinedWhileBusy() {
  const sources = names('a', 'b', 'c', 'd');
  const held = new Map<SourceName, string>();
  const members = ['one'];
  const busy = new Set(sources);
  const followed = new Set<SourceName>();
  const ticks = new Map<SourceName, () => void>();
  const holdings = async () => ({
    members: members.map((member) => ({ member, sources })),
    held: new Map(held),
  });
  const one = new HeldSources({
    member: 'one',
    store: {
      holdings: () => database.holdings(),
      take: async (wanted) => {
        const free = wanted.filter((source) => !held.has(source));
        for (const source of free) held.set(source, 'one');
        return free;
      },
      release: async (released) => {
        for (const source of released) if (held.get(source) === 'one') held.delete(source);
      },
    },
    follow: (gained) => {
      for (const source of gained) followed.add(source);
    },
    leave: async (source) => {
      followed.delete(source);
      if (busy.has(source)) await new Promise<void>((resolve) => ticks.set(source, resolve));
    },
    isBusy: (source) => busy.has(source),
    onReleased: async () => {},
    logger: silentLogger,
  });
  const database = { holdings };
  await one.rebalance();
  members.push('two');
  await one.rebalance();
  expect([held.size, [...ticks.keys()]]).toEqual([4, ['a', 'b']]);
  return { one, held, members, busy, followed, ticks, database, holdings };
}

test('rebalance: sources that are released when their ticks end count as released, also once others are idle', async () => {
  const { one, held, busy, followed } = await joinedWhileBusy();
  for (const source of names('c', 'd')) busy.delete(source);
  await one.rebalance();
  expect([...followed]).toEqual(['c', 'd']);
  expect(held.size).toBe(4);
});

test('rebalance: a source whose release ends while the holdings are read is not followed again', async () => {
  const { one, held, members, followed, ticks, database, holdings } = await joinedWhileBusy();
  members.pop();
  database.holdings = async () => {
    const seen = await holdings();
    for (const end of ticks.values()) end();
    await expect.poll(() => held.size).toBe(2);
    return seen;
  };
  await one.rebalance();
  expect([...followed]).toEqual(['c', 'd']);
  expect([one.has('a' as SourceName), one.size]).toEqual([false, 2]);
  database.holdings = holdings;
  await one.rebalance();
  expect([...held]).toEqual(names('c', 'd', 'a', 'b').map((source) => [source, 'one']));
  expect(one.size).toBe(4);
});
