import { parseArgs } from 'node:util';
import { missingFrom } from './expected-counters.js';
import { serverForWorlds } from './postgres/server-for-worlds.js';
import { Laboratory } from './run-seed.js';
import { invariantOf, shrink, storyOf } from './shrink.js';
import { Tally } from './tally.js';

/*
 * npm run simulate -- --seeds 10000 [--from N] [--seconds N] [--seed N] [--mode platform | --database postgres]
 *                     [--tally FILE]
 *
 * Runs seeded worlds and prints what failed, smallest form first. A batch large enough to have seen everything
 * also fails when a class of faults, a state or a fault code never occurred. With --seconds it begins no further
 * world after that time, however many seeds are left. Exit codes: 0 or 1.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    mode: { type: 'string', default: 'fake' },
    /** Keeps the mirrors on a server of one's own, or on the one ROSTERD_TEST_POSTGRES names. */
    database: { type: 'string', default: 'sqlite' },
    seconds: { type: 'string', default: 'Infinity' },
    tally: { type: 'string' },
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
const mode = values.mode === 'platform' ? 'platform' : 'fake';
const server = values.database === 'postgres' ? await serverForWorlds() : null;
const laboratory = await Laboratory.open(mode, server?.url ?? null);
const tally = new Tally(values.tally);
const begun = process.hrtime.bigint();
let violations = 0;
let run = 0;

const secondsPassed = () => Number(process.hrtime.bigint() - begun) / 1e9;
for (let seed = from; seed < from + count && secondsPassed() < Number(values.seconds); seed += 1) {
  const verdict = await laboratory.seed(seed, one !== null);
  run += 1;
  tally.add(verdict);
  if (one !== null) console.log(verdict.lines.join('\n'));
  let violation = verdict.violation;
  if (violation === null && server === null && seed % twiceEvery === 0) {
    const again = await laboratory.seed(seed);
    tally.counters.add('run twice');
    if (again.trace !== verdict.trace)
      violation = `determinism: two runs of the seed took different courses (${verdict.trace}, ${again.trace})`;
  }
  if (violation !== null) tally.violations += 1;
  tally.save();
  if (violation === null) continue;
  violations += 1;
  console.log(`seed ${seed}  mode ${mode}  ${violation}`);
  if (values.first) break;
  const invariant = invariantOf(verdict);
  if (invariant !== null && values['no-shrink'] !== true) {
    const small = await shrink(laboratory, laboratory.plan(seed), invariant);
    console.log(`seed ${seed}  shrunk to: ${storyOf(small)}`);
  }
}
await laboratory.close();
await server?.close();

const missing = tally.seeds >= completeFrom ? missingFrom(tally.counters, mode) : [];
if (!values.first)
  for (const [name, times] of tally.counters.sorted()) console.log(`${String(times).padStart(10)}  ${name}`);
console.log(`${run} seeds, ${violations} violations, ${(run / secondsPassed()).toFixed(1)} seeds/s`);
console.log(
  `in all ${tally.seeds} seeds, ${tally.violations} violations, ${tally.events} events, ${Math.round(tally.virtualHours)} virtual hours`,
);
if (missing.length > 0) console.log(`never occurred: ${missing.join(', ')}`);
process.exitCode = violations > 0 || missing.length > 0 ? 1 : 0;
