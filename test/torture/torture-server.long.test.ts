import { expect, test } from 'vitest';
import { seededRandom } from '../../src/runtime/random.js';
import { postgresUrl } from '../postgres/fresh-database.js';
import { Counters } from './counters.js';
import { built } from './life.js';
import { scenarios } from './scenarios/index.js';

/** One round each on a server; `npm run torture -- --database postgres` plays every class. */
const seeds: Readonly<Record<string, number>> = { 'accept-to-tick': 12, locked: 1 };

test.each(scenarios.postgres.filter(({ name }) => name in seeds))(
  'a real process with its mirror on a server keeps its guarantees under $name',
  { timeout: 900_000 },
  async ({ name, open }) => {
    const counters = new Counters();
    const opened = await open({ program: built, server: await postgresUrl() });
    try {
      await opened.round(seededRandom(seeds[name] ?? 0), counters);
    } finally {
      await opened.close();
    }
    expect(counters.lines()).not.toEqual([]);
  },
);
