import { expect, test } from 'vitest';
import { seededRandom } from '../../src/runtime/random.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { Counters } from './counters.js';
import { playFleet } from './fleet/play.js';
import { startFleet } from './fleet/running-fleet.js';
import { built } from './life.js';

/** `npm run torture:fleet` runs 10,000 changes. */
const seed = 5;

test('three processes share the sources, are killed and frozen, and the copy is equal and nobody wrote late', {
  timeout: 900_000,
}, async () => {
  const [database, random, counters] = [await freshDatabase(), seededRandom(seed), new Counters()];
  const world = await startFleet({
    url: database.url,
    program: built,
    random,
    companies: 4,
    records: 20,
    pageMillis: 100,
  });
  try {
    const play = { changes: 60, perBatch: 10, pauseMillisMax: 500, frozenMillis: [8_500, 9_500] } as const;
    const seen = await playFleet(world, play, random, counters);
    expect(seen.stale).toEqual([]);
    expect(counters.of('overtaken in the middle of a tick')).toBeGreaterThan(0);
    expect(seen.handovers).toBeGreaterThan(0);
    expect(seen.writes).toBeGreaterThan(seen.takings);
  } finally {
    await world.close();
    await database.drop();
  }
});
