import { availableParallelism } from 'node:os';
import { amount, choice, flag, lineWith, readOptions, text, whole } from '../support/options.js';
import { missingFrom } from './expected-counters.js';
import { serverForRuns } from './postgres/server-for-runs.js';
import { Progress } from './progress.js';
import { type Setting, type Trier, triers } from './seed-processes.js';
import { Tally } from './tally.js';
import type { Tried } from './try-seed.js';

const command = {
  name: 'npm run simulate',
  about: `Runs seeded worlds and prints what failed, smallest form first. A batch large enough to have seen everything also
fails when a class of faults, a state or a fault code never occurred. Exit codes: 0, or 1 when anything failed.
PostgreSQL is a server of its own, or the one that ROSTERD_TEST_POSTGRES names.`,
  options: {
    seeds: whole('how many worlds', 1000, { least: 1 }),
    from: whole('the first of them', 1),
    seed: whole('this one alone, with everything that happens in it', null),
    jobs: whole('processes that share the seeds', availableParallelism(), { least: 1 }),
    seconds: amount('begins no further world after that time', null),
    mode: choice(
      'who plays the platform: a small one of our own, or the bundled server',
      ['fake', 'platform'],
      'fake',
    ),
    database: choice('where the mirrors are', ['sqlite', 'postgres'], 'sqlite'),
    tally: text('adds what was seen to what the file says, and to the file', null, 'FILE'),
    first: flag('ends at the first violation'),
    'no-shrink': flag('prints violations without looking for their smallest form'),
  },
};
const options = readOptions(command);

/** Options that mean nothing for one world. */
const ofBatches = { seconds: null, tally: null, first: false, 'no-shrink': false };

/** A batch of at least this size must have encountered everything. */
const completeFrom = 2_000;

const one = options.seed;
const from = one ?? options.from;
const count = one === null ? options.seeds : 1;
const jobs = Math.min(count, options.jobs);
const seconds = options.seconds ?? Number.POSITIVE_INFINITY;
const server = options.database === 'postgres' ? await serverForRuns() : null;
const setting: Setting = {
  mode: options.mode,
  server: server?.url ?? null,
  twiceEvery: server === null ? 20 : null,
  shrinks: !options.first && !options['no-shrink'],
  keepsLines: one !== null,
};
const tally = new Tally(options.tally ?? undefined);
const begun = process.hrtime.bigint();
const secondsPassed = () => Number(process.hrtime.bigint() - begun) / 1e9;
const progress = new Progress(count, secondsPassed);
let next = from;
let violations = 0;
let run = 0;
let processorMillis = 0;

/** On a signal, it finishes the runs in progress and prints the results so far. */
let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    stopping = true;
  });

const workers = await triers(setting, jobs);
try {
  await Promise.all(workers.map(work));
} finally {
  await Promise.all(workers.map((worker) => worker.close()));
  await server?.close();
}

async function work(worker: Trier): Promise<void> {
  while (!stopping && next < from + count && secondsPassed() < seconds) {
    next += 1;
    hear(await worker.seed(next - 1));
  }
}

function hear(tried: Tried): void {
  const { seed, violation, story, lines } = tried;
  run += 1;
  processorMillis += tried.processorMillis;
  tally.add(tried);
  tally.save();
  if (lines.length > 0) console.log(lines.join('\n'));
  progress.tell(run, violations + (violation === null ? 0 : 1));
  if (violation === null) return;
  violations += 1;
  progress.clear();
  console.log(`seed ${seed}  mode ${setting.mode}  ${violation}`);
  if (story !== null) console.log(`seed ${seed}  shrunk to: ${story}`);
  const { seeds, from: first, jobs: processes } = command.options;
  const alone = { ...options, seeds: seeds.initial, from: first.initial, jobs: processes.initial, seed };
  console.log(`  again: ${lineWith(command, { ...alone, ...ofBatches })}`);
  if (options.first) stopping = true;
}

progress.clear();
const missing = tally.seeds >= completeFrom ? missingFrom(tally.counters, setting.mode) : [];
if (!options.first)
  for (const [name, times] of tally.counters.sorted()) console.log(`${String(times).padStart(10)}  ${name}`);
console.log(
  `${run} seeds, ${violations} violations, ${(run / secondsPassed()).toFixed(1)} seeds/s, ${Math.round(processorMillis / Math.max(1, run))} ms of a processor each`,
);
console.log(
  `in all ${tally.seeds} seeds, ${tally.violations} violations, ${tally.events} events, ${Math.round(tally.virtualHours)} virtual hours`,
);
if (missing.length > 0) console.log(`never occurred: ${missing.join(', ')}`);
process.exitCode = violations > 0 || missing.length > 0 ? 1 : 0;
