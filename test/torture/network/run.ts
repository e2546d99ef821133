import { systemClock } from '../../../src/runtime/clock.js';
import { amount, choice, flag, lineWith, readOptions, whole } from '../../support/options.js';
import { Counters } from '../counters.js';
import { Violation } from '../violation.js';
import { planFaults } from './plan.js';
import { begin, expireCursors, playEpoch } from './play.js';
import { World } from './world.js';

const command = {
  name: 'npm run torture:network',
  about: `Three daemons, PostgreSQL with a streaming replica, the platform and two analysts, each on a host of its own, while the
network between them breaks. A run is a series of worlds; each has its own seed, a few epochs of faults, and a judge
after each epoch. Exit code 1 and the line that repeats the world when a promise is broken.`,
  options: {
    seed: whole('seed of the first world', 1),
    minutes: amount('begins no further world after that time', null),
    faults: whole('begins no further world after so many faults (120 unless --minutes is given)', null, {
      least: 1,
    }),
    replica: choice('in every world; otherwise each second one', ['sync', 'async'], null),
    epochs: whole('epochs of a world', 3, { least: 1 }),
    perEpoch: whole('faults of an epoch', 40, { least: 1 }),
    loopback: flag('all hosts share the loopback, for machines without network namespaces'),
    small: flag('few records and companies'),
    first: flag('ends at the first violation'),
  },
};
const options = readOptions(command);
const say = (text: string) => process.stdout.write(`${text}\n`);
const counters = new Counters();
const begun = systemClock.monotonic();
const minutes = options.minutes ?? Number.POSITIVE_INFINITY;
const wanted = options.faults ?? (options.minutes === null ? 120 : Number.POSITIVE_INFINITY);
const perEpoch = Math.min(options.perEpoch, wanted);
let faults = 0;
let worlds = 0;
let failed = 0;

for (let seed = options.seed; faults < wanted && minutesPassed() < minutes; seed += 1) {
  // By parity, so that a series has both and a seed says which.
  const synchronous = options.replica === null ? seed % 2 === 1 : options.replica === 'sync';
  worlds += 1;
  await playWorld(seed, synchronous);
  if (failed > 0 && options.first) break;
}
say(
  `${worlds} worlds, ${faults} faults in ${minutesPassed().toFixed(1)} minutes, ${failed} worlds with violations`,
);
for (const line of counters.lines()) say(`  ${line}`);
process.exitCode = failed === 0 ? 0 : 1;

function minutesPassed(): number {
  return (systemClock.monotonic() - begun) / 60_000;
}

async function playWorld(seed: number, synchronous: boolean): Promise<void> {
  const world = await World.open({ seed, synchronous, small: options.small, namespaces: !options.loopback });
  if (worlds === 1 && world.network.kind === 'loopback')
    say(
      `all hosts share the loopback, with proxies between them${world.missing === null ? '' : `: ${world.missing}`}`,
    );
  let broken = false;
  let played = 0;
  try {
    const since = await begin(world);
    for (let epoch = 0; epoch < options.epochs && faults < wanted && minutesPassed() < minutes; epoch += 1) {
      if (epoch === 1) await expireCursors(world, counters);
      const count = Math.min(perEpoch, wanted - faults);
      faults += count;
      played += count;
      const plan = planFaults(seed * 1_000 + epoch, count, 1_400);
      await playEpoch(world, { seed: seed * 1_000 + epoch, plan, restMillisMax: 240_000 }, since, counters);
      say(
        `seed ${seed}, ${synchronous ? 'synchronous' : 'asynchronous'} replica, epoch ${epoch + 1}: ${count} faults, nothing broken`,
      );
    }
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    broken = true;
    failed += 1;
    // The world alone, with as many of its faults as were played.
    const again = { ...options, seed, faults: played, minutes: null, first: false };
    say(`${String(error)}\n  logs: ${world.logs}`);
    say(`  again: ${lineWith(command, again)}`);
  } finally {
    await world.close(broken);
  }
}
