import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/runtime/random.js';
import { Counters } from './counters.js';
import { built } from './life.js';
import { scenarios } from './scenarios/index.js';

/** Seeds whose rounds each strike; `npm run torture` plays as many as wanted. */
const seeds: Readonly<Record<string, readonly number[]>> = {
  'accept-to-tick': [28],
  sigterm: [28],
  'two-writers': [7],
  locked: [1, 4],
  'full-disk': [8],
  'damaged-file': [1, 2, 4],
};
const played = scenarios.sqlite.filter(({ name }) => name in seeds);

test('this file plays every scenario except refresh, which has its own test', () => {
  expect(played.map(({ name }) => name).sort()).toEqual(Object.keys(seeds).sort());
});

describe('a mistreated real process keeps its guarantees:', () => {
  test.each(played)(
    'a real process keeps its guarantees under $name',
    async ({ name, open }) => {
      const counters = new Counters();
      const opened = await open({ program: built, server: null });
      try {
        for (const seed of seeds[name] ?? []) await opened.round(seededRandom(seed), counters);
      } finally {
        await opened.close();
      }
      expect(counters.lines()).not.toEqual([]);
    },
    900_000,
  );
});
