import { afterAll, beforeAll, expect, test } from 'vitest';
import { compiledScript } from '../support/compiled-script.js';
import { Laboratory } from './run-seed.js';
import { beside, seedProcess } from './seed-processes.js';
import { invariantOf, reportOf, shrink } from './shrink.js';

/**
 * Few, and of those that take little time and meet much: crashes, power cuts, second daemons, halts. `npm run simulate`
 * runs as many as wanted.
 */
const worlds = [1, 347, 430, 460];
/** Two more, of which the first test also compares what they do. */
const repeated = { first: 5, second: 335 };
let laboratory: Laboratory;

beforeAll(async () => {
  laboratory = await Laboratory.open();
});
afterAll(() => laboratory.close());

test('a seed takes the same course each time, including power cuts and second daemons', async () => {
  const one = await laboratory.seed(repeated.first);
  const another = await laboratory.seed(repeated.second);
  expect([one.violation, another.violation]).toEqual([null, null]);
  expect(another.trace).not.toBe(one.trace);
  for (const { counters } of [one, another])
    for (const met of ['death:torn', 'act:rival', 'receiver:202'])
      expect(counters.of(met), met).toBeGreaterThan(0);

  // The other process has run no seed before, so what an earlier seed leaves behind would change the course too.
  const wish = { twiceEvery: null, shrinks: false, keepsLines: false };
  const process = beside({ mode: 'fake', server: null, ...wish }, await compiledScript(seedProcess));
  const there = await process.seed(repeated.second);
  await process.close();
  expect(there.trace, 'in a process beside this one').toBe(another.trace);
  expect(there.counts).toEqual(another.counters.counts);
});

test('a seed takes the same course each time with the bundled server as the platform', async () => {
  laboratory.mode = 'platform';
  const one = await laboratory.seed(316);
  const again = await laboratory.seed(316);
  laboratory.mode = 'fake';
  expect([one.violation, again.violation]).toEqual([null, null]);
  expect(again.trace).toBe(one.trace);
  expect(one.counters.of('platform answered:200')).toBeGreaterThan(10);
  expect(one.counters.of('receiver:202')).toBeGreaterThan(0);
});

/** Seeds that failed once, each with the bug it found. They run forever as regression tests. */
const kept = {
  11: 'the judge did not wait for an event that had just been accepted',
  54: 'the judge mistook an empty mirror that had not listed its new company yet for one that had',
  5004: 'the fake platform lost a record between two pages',
};

test.each(Object.entries(kept))(
  'seed %s, kept because %s, no longer breaks an invariant',
  async (seed) => {
    expect((await laboratory.seed(Number(seed))).violation).toBeNull();
  },
  300_000,
);

test('simulations with seeded faults break no invariant', async () => {
  const broken: string[] = [];
  for (const seed of worlds) {
    const verdict = await laboratory.seed(seed);
    const invariant = invariantOf(verdict);
    if (invariant === null) continue;
    const small = await shrink(laboratory, laboratory.plan(seed), invariant, 30);
    broken.push(reportOf(laboratory.mode, verdict, small));
  }
  expect(broken).toEqual([]);
}, 600_000);
