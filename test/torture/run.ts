import { availableParallelism } from 'node:os';
import { systemClock } from '../../src/runtime/clock.js';
import { seededRandom } from '../../src/runtime/random.js';
import { findPrograms, toldPgAmcheck, toldSqldiff } from '../judges/outside-programs.js';
import { startPostgres } from '../postgres/server.js';
import { amount, choice, flag, lineWith, readOptions, refuse, whole } from '../support/options.js';
import { Counters } from './counters.js';
import { built, isBuilt, sources } from './life.js';
import type { Scenario, Setting } from './scenario.js';
import { scenarios } from './scenarios/index.js';

const names = [...new Set([...scenarios.sqlite, ...scenarios.postgres].map(({ name }) => name))];
const command = {
  name: 'npm run torture',
  about: `Mistreats real processes: rounds of each scenario, several at once, because a round is idle while its daemon starts.
With --database postgres, the mirrors are on a server that the run starts, or on servers of the scenarios that harm theirs.
Where they are installed, pg_amcheck checks these mirrors, and sqldiff compares a mirror after a round with one listed afresh.`,
  options: {
    rounds: whole('rounds of each scenario', 100, { least: 1 }),
    seed: whole('seed of the first round', 1),
    database: choice('where the mirrors are', ['sqlite', 'postgres'], 'sqlite'),
    only: choice('this scenario alone', names, null),
    jobs: whole('rounds at once', availableParallelism() + 1, { least: 1 }),
    seconds: amount('begins no further round of a scenario after that time', null),
    first: flag('ends at the first violation'),
  },
};
const options = readOptions(command);
const { rounds, seed, database } = options;
const jobs = Math.min(rounds, options.jobs);
const chosen = scenarios[database].filter(({ name }) => options.only === null || name === options.only);
if (chosen.length === 0)
  refuse({ name: 'npm run torture' }, `--database ${database} has no scenario "${options.only}"`);

/** On a signal, it finishes the round and prints the results so far. */
let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    stopping = true;
  });

const postgres = database === 'postgres' ? await startPostgres() : null;
const programs = findPrograms(process.env.PATH ?? '');
const setting: Setting = { program: isBuilt() ? built : sources, server: postgres?.url ?? null, programs };
if (database === 'postgres') process.stdout.write(`${toldPgAmcheck(programs)}\n`);
process.stdout.write(`${toldSqldiff(programs)}\n`);
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
    while (
      next < seed + rounds &&
      !stopping &&
      secondsPassed() < (options.seconds ?? Number.POSITIVE_INFINITY)
    ) {
      const own = next++;
      try {
        await opened.round(seededRandom(own), counters);
      } catch (error) {
        failed += 1;
        stopping ||= options.first;
        const again = { ...options, only: name, seed: own, rounds: 1, jobs: command.options.jobs.initial };
        process.stdout.write(
          `${told(error)}\n  again: ${lineWith(command, { ...again, seconds: null, first: false })}\n`,
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
