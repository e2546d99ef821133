import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/runtime/clock.js';
import { seededRandom } from '../../src/runtime/random.js';
import { startPostgres } from '../postgres/server.js';
import { Counters } from './counters.js';
import { built, isBuilt, sources } from './life.js';
import type { Scenario, Setting } from './scenario.js';
import { scenarios } from './scenarios/index.js';

/*
 * npm run torture -- [--database postgres] [--rounds N] [--seed S] [--only NAME] [--jobs N] [--seconds N] [--first]
 *
 * Mistreats real processes: N rounds of each scenario, several at once, because a round is idle while its daemon
 * starts. With --database postgres, the mirrors are on a server that the run starts, or on servers of the scenarios that harm
 * theirs. With --seconds, no further round of a scenario begins after that time.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    database: { type: 'string', default: 'sqlite' },
    jobs: { type: 'string', default: String(availableParallelism() + 1) },
    seconds: { type: 'string', default: 'Infinity' },
    /** Ends at the first violation, which the search for planted bugs uses. */
    first: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed);
const jobs = Math.min(rounds, Number(values.jobs));
const database = values.database === 'postgres' ? 'postgres' : 'sqlite';
const chosen = scenarios[database].filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0 || !(rounds > 0) || !(jobs > 0) || !Number.isInteger(seed)) {
  process.stderr.write(
    `usage: npm run torture -- --rounds N --seed S --database sqlite|postgres --only ${scenarios[database].map(({ name }) => name).join('|')}\n`,
  );
  process.exit(2);
}

/** On a signal, it finishes the round and prints the results so far. */
let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    stopping = true;
  });

const postgres = database === 'postgres' ? await startPostgres() : null;
const setting: Setting = { program: isBuilt() ? built : sources, server: postgres?.url ?? null };
let violations = 0;
for (const scenario of chosen) {
  if (stopping) break;
  violations += await play(scenario);
}
await postgres?.close();
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
    const opened = await open(setting);
    while (next < seed + rounds && !stopping && secondsPassed() < Number(values.seconds)) {
      const own = next++;
      try {
        await opened.round(seededRandom(own), counters);
      } catch (error) {
        failed += 1;
        stopping ||= values.first;
        process.stdout.write(
          `${told(error)}\n  again: npm run torture -- --database ${database} --only ${name} --seed ${own} --rounds 1\n`,
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
