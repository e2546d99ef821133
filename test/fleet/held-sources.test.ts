import { expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import { HeldSources } from '../../src/fleet/held-sources.js';
import { silentLogger } from '../../src/runtime/logger.js';

const names = (...all: string[]) => all as SourceName[];
const sources = names('a', 'b', 'c', 'd');

/** Member `one` holds four sources when member `two` joins. Ticks of those in `busy` are running. */
async function joined(busy: Set<SourceName>) {
  const held = new Map<SourceName, string>();
  const members = ['one'];
  const followed = new Set<SourceName>();
  const ticks = new Map<SourceName, () => void>();
  let told = 0;
  let logged = 0;
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
    onReleased: async () => {
      told += 1;
    },
    logger: {
      ...silentLogger,
      info: () => {
        logged += 1;
      },
    },
  });
  const database = { holdings };
  await one.rebalance();
  members.push('two');
  await one.rebalance();
  return { one, held, members, followed, ticks, database, holdings, told: () => told, logged: () => logged };
}

test('rebalance: sources that are released when their ticks end count as released, also once others are idle', async () => {
  const busy = new Set(sources);
  const { one, held, followed, ticks, told, logged } = await joined(busy);
  expect([...ticks.keys()]).toEqual(['a', 'b']);
  for (const source of names('c', 'd')) busy.delete(source);
  await one.rebalance();
  expect([...followed]).toEqual(['c', 'd']);
  // A line when four were claimed and one when two were released; nothing was reassigned since.
  expect([held.size, told(), logged()]).toEqual([4, 0, 2]);
});

test('rebalance: idle surplus is released with one message, and a source that another member took over is left', async () => {
  const { one, held, followed, told } = await joined(new Set());
  expect([[...followed], [...held.keys()], told()]).toEqual([['c', 'd'], ['c', 'd'], 1]);
  held.set('c' as SourceName, 'two');
  await one.rebalance();
  expect([[...followed], one.has('c' as SourceName), told()]).toEqual([['d', 'a'], false, 1]);
});

test('rebalance: a source whose release ends while the holdings are read is not followed again', async () => {
  const { one, held, members, followed, ticks, database, holdings } = await joined(new Set(sources));
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
