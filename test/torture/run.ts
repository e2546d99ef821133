import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/runtime/clock.js';
import { seededRandom } from '../../src/runtime/random.js';
import { Counters } from './counters.js';
import { built, isBuilt, sources } from './life.js';
import type { Scenario } from './scenario.js';
import { scenarios } from './scenarios/index.js';

/*
 * npm run torture -- [--rounds N] [--seed S] [--only NAME] [--jobs N] [--seconds N] [--first]
 *
 * Mistreats real processes: N rounds of each scenario, several at once, because a round is idle while its daemon
 * starts. With --seconds, no further round of a scenario begins after that time.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism() + 1) },
    seconds: { type: 'string', default: 'Infinity' },
    /** Ends at the first violation, which the search for planted bugs uses. */
    first: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed);
const jobs = Math.min(rounds, Number(values.jobs));
const chosen = scenarios.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0 || !(rounds > 0) || !(jobs > 0) || !Number.isInteger(seed)) {
  process.stderr.write(
    `usage: npm run torture -- --rounds N --seed S --only ${scenarios.map(({ name }) => name).join('|')}\n`,
  );
  process.exit(2);
}

/** On a signal, it finishes the round and prints the results so far. */
let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    stopping = true;
  });

let violations = 0;
for (const scenario of chosen) {
  if (stopping) break;
  violations += await play(scenario);
}
process.exitCode = violations === 0 ? 0 : 1;

/** Returns the number of rounds with a violation. */
async function play({ name, open }: Scenario): Promise<number> {
  const counters = new Counters();
  const begun = systemClock.monotonic();
  const secondsPassed = () => (systemClock.monotonic() - begun) / 1000;
  let next = seed;
  let failed = 0;
  let played = 0;
  // Each round has its own seed, so that it can be replayed alone; each job has its own place.
  const job = async () => {
    const opened = await open(isBuilt() ? built : sources);
    while (next < seed + rounds && !stopping && secondsPassed() < Number(values.seconds)) {
      const own = next++;
      try {
        await opened.round(seededRandom(own), counters);
      } catch (error) {
        failed += 1;
        stopping ||= values.first;
        process.stdout.write(
          `${told(error)}\n  again: npm run torture -- --only ${name} --seed ${own} --rounds 1\n`,
        );
      }
      played += 1;
      if (played % 50 === 0) process.stderr.write(`${name}: ${played} rounds, ${failed} violations\n`);
    }
    await opened.close();
  };
  await Promise.all(Array.from({ length: jobs }, job));
  process.stdout.write(
    `${name}: ${played} rounds in ${secondsPassed().toFixed(1)} s, ${failed} violations\n`,
  );
  for (const line of counters.lines()) process.stdout.write(`  ${line}\n`);
  return failed;
}

function told(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${String(error.cause)})` : '';
  return `${String(error)}${cause}`;
}
