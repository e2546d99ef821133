import { parseArgs } from 'node:util';
import { systemClock } from '../../../src/runtime/clock.js';
import { Counters } from '../counters.js';
import { Violation } from '../violation.js';
import { planFaults } from './plan.js';
import { begin, expireCursors, playEpoch } from './play.js';
import { World } from './world.js';

/*
 * npm run torture:network -- [--seed N] [--minutes M | --faults N] [--replica sync|async] [--loopback] [--small]
 *
 * Three daemons, PostgreSQL with a streaming replica, the platform and two analysts, each on a host of its own, while the
 * network between them breaks. A run is a series of worlds; each has its own seed, a few epochs of faults, and a judge
 * after each epoch. Exit code 1 and the line that repeats the world when a promise is broken.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    faults: { type: 'string' },
    replica: { type: 'string' },
    epochs: { type: 'string', default: '3' },
    perEpoch: { type: 'string', default: '40' },
    loopback: { type: 'boolean', default: false },
    small: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);
const counters = new Counters();
const begun = systemClock.monotonic();
const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes);
const wanted =
  values.faults !== undefined
    ? Number(values.faults)
    : values.minutes === undefined
      ? 120
      : Number.POSITIVE_INFINITY;
const perEpoch = Math.min(Number(values.perEpoch), wanted);
let faults = 0;
let worlds = 0;
let failed = 0;

for (let seed = Number(values.seed); faults < wanted && minutesPassed() < minutes; seed += 1) {
  // By parity, so that a series has both and a seed says which.
  const synchronous = values.replica === undefined ? seed % 2 === 1 : values.replica === 'sync';
  worlds += 1;
  await playWorld(seed, synchronous);
  if (failed > 0 && values.first) break;
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
  const world = await World.open({ seed, synchronous, small: values.small, namespaces: !values.loopback });
  if (worlds === 1 && world.network.kind === 'loopback')
    say(
      `all hosts share the loopback, with proxies between them${world.missing === null ? '' : `: ${world.missing}`}`,
    );
  let broken = false;
  let played = 0;
  try {
    const since = await begin(world);
    for (
      let epoch = 0;
      epoch < Number(values.epochs) && faults < wanted && minutesPassed() < minutes;
      epoch += 1
    ) {
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
    const options = [
      ...(values.replica === undefined ? [] : [`--replica ${values.replica}`]),
      ...['loopback' as const, 'small' as const].filter((name) => values[name]).map((name) => `--${name}`),
      ...(values.perEpoch === '40' ? [] : [`--perEpoch ${values.perEpoch}`]),
    ];
    say(`${String(error)}\n  logs: ${world.logs}`);
    say(
      `  again: ${['npm run torture:network --', `--seed ${seed}`, `--faults ${played}`, ...options].join(' ')}`,
    );
  } finally {
    await world.close(broken);
  }
}
