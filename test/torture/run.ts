import { parseArgs } from 'node:util';
import { systemClock } from '../../src/runtime/clock.js';
import { seededRandom } from '../../src/runtime/random.js';
import { Counters } from './counters.js';
import { built, isBuilt, sources } from './life.js';
import { scenarios } from './scenarios/index.js';

/* npm run torture -- [--rounds N] [--seed S] [--only NAME] [--first]: real processes, mistreated for as long as it is told. */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    /** Ends at the first violation: how planted bugs are looked for. */
    first: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed);
const chosen = scenarios.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0 || !(rounds > 0) || !Number.isInteger(seed)) {
  process.stderr.write(
    `usage: npm run torture -- --rounds N --seed S --only ${scenarios.map(({ name }) => name).join('|')}\n`,
  );
  process.exit(2);
}

/** Asked to stop, it ends with the round and tells how it went so far. */
let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    stopping = true;
  });

let violations = 0;
for (const { name, open } of chosen) {
  if (stopping) break;
  const counters = new Counters();
  const opened = await open(isBuilt() ? built : sources);
  const begun = systemClock.monotonic();
  let failed = 0;
  let played = 0;
  for (; played < rounds && !stopping; played += 1) {
    // A round has a seed of its own, so that it can be played alone.
    const own = seed + played;
    try {
      await opened.round(seededRandom(own), counters);
    } catch (error) {
      failed += 1;
      stopping ||= values.first;
      process.stdout.write(
        `${String(error)}\n  again: npm run torture -- --only ${name} --seed ${own} --rounds 1\n`,
      );
    }
    if ((played + 1) % 50 === 0)
      process.stderr.write(`${name}: ${played + 1} rounds, ${failed} violations\n`);
  }
  await opened.close();
  violations += failed;
  const seconds = ((systemClock.monotonic() - begun) / 1000).toFixed(1);
  process.stdout.write(`${name}: ${played} rounds in ${seconds} s, ${failed} violations\n`);
  for (const line of counters.lines()) process.stdout.write(`  ${line}\n`);
}
process.exitCode = violations === 0 ? 0 : 1;
