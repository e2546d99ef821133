import { systemClock } from '../../../src/runtime/clock.js';
import { seededRandom } from '../../../src/runtime/random.js';
import { startPostgres } from '../../postgres/server.js';
import { lineWith, readOptions, whole } from '../../support/options.js';
import { Counters } from '../counters.js';
import { built, isBuilt, sources } from '../life.js';
import { playFleet } from './play.js';
import { startFleet } from './running-fleet.js';

const command = {
  name: 'npm run torture:fleet',
  about: 'Three processes on one PostgreSQL, killed and frozen at random.',
  options: {
    changes: whole('changes of records', 10_000, { least: 1 }),
    seed: whole('the course follows from it', 1),
  },
};
const { changes, seed } = readOptions(command);
const random = seededRandom(seed);
const server = await startPostgres();
const counters = new Counters();
const begun = systemClock.monotonic();
const world = await startFleet({
  url: server.url,
  program: isBuilt() ? built : sources,
  random,
  companies: 12,
  records: 100,
  pageMillis: 150,
});
try {
  const seen = await playFleet(
    world,
    { changes, perBatch: 20, pauseMillisMax: 12_000, frozenMillis: [500, 20_000] },
    random,
    counters,
  );
  const seconds = ((systemClock.monotonic() - begun) / 1000).toFixed(0);
  process.stdout.write(`fleet: ${changes} changes in ${seconds} s, 0 violations\n`);
  const after = (millis: number) => `${(millis / 1000).toFixed(1)} s`;
  process.stdout.write(
    `  equal ${after(seen.equalMillis)} after the last return, every delivery worked ${after(seen.settledMillis)}\n`,
  );
  process.stdout.write(
    `  ticks: ${seen.takings}, of another process than the one before: ${seen.handovers}\n`,
  );
  process.stdout.write(`  writes checked against their fence: ${seen.writes}, stale: ${seen.stale.length}\n`);
} catch (error) {
  process.stdout.write(`${String(error)}\n  again: ${lineWith(command, { changes, seed })}\n`);
  process.exitCode = 1;
} finally {
  for (const line of counters.lines()) process.stdout.write(`  ${line}\n`);
  await world.close();
  await server.close();
}
