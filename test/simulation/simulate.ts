import { parseArgs } from 'node:util';
import { Counters } from './counters.js';
import { missingFrom } from './expected-counters.js';
import { planFor } from './plan.js';
import { Laboratory } from './run-seed.js';
import { invariantOf, shrink, storyOf } from './shrink.js';

/*
 * npm run simulate -- --seeds 10000 [--from N] [--seed N] [--quiet]
 *
 * Runs seeded worlds and prints what failed, smallest form first. A batch large enough to have seen everything
 * also fails when a class of faults, a state or a fault code never occurred. Exit codes: 0 or 1.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    /** Ends at the first violation and prints only it: how planted bugs are looked for. */
    first: { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
  },
});

/** One seed in this many is run twice, and both runs must take the same course. */
const twiceEvery = 20;
/** From this size on a batch has to have seen everything. */
const completeFrom = 2_000;

const one = values.seed === undefined ? null : Number(values.seed);
const from = one ?? Number(values.from);
const count = one === null ? Number(values.seeds) : 1;
const laboratory = new Laboratory();
const counters = new Counters();
const begun = process.hrtime.bigint();
let violations = 0;
let events = 0;
let virtualHours = 0;
let run = 0;

for (let seed = from; seed < from + count; seed += 1) {
  const verdict = await laboratory.seed(seed, one !== null);
  run += 1;
  events += verdict.events;
  virtualHours += verdict.virtualMillis / 3_600_000;
  counters.merge(verdict.counters.counts);
  if (one !== null) console.log(verdict.lines.join('\n'));
  let violation = verdict.violation;
  if (violation === null && seed % twiceEvery === 0) {
    const again = await laboratory.seed(seed);
    counters.add('run twice');
    if (again.trace !== verdict.trace)
      violation = `determinism: two runs of the seed took different courses (${verdict.trace}, ${again.trace})`;
  }
  if (violation === null) continue;
  violations += 1;
  console.log(`seed ${seed}  mode fake  ${violation}`);
  if (values.first) break;
  const invariant = invariantOf(verdict);
  if (invariant !== null && values['no-shrink'] !== true) {
    const small = await shrink(laboratory, planFor(seed), invariant);
    console.log(`seed ${seed}  shrunk to: ${storyOf(small)}`);
  }
}
laboratory.close();

const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
const missing = run >= completeFrom ? missingFrom(counters) : [];
if (!values.first) {
  for (const [name, times] of [...counters.counts].sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`${String(times).padStart(10)}  ${name}`);
}
console.log(
  `${run} seeds, ${violations} violations, ${(run / seconds).toFixed(1)} seeds/s, ${events} events, ${Math.round(virtualHours)} virtual hours`,
);
if (missing.length > 0) console.log(`never occurred: ${missing.join(', ')}`);
process.exitCode = violations > 0 || missing.length > 0 ? 1 : 0;
