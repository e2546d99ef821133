import { systemClock } from '../../../src/runtime/clock.js';
import type { Random } from '../../../src/runtime/random.js';
import type { Counters } from '../counters.js';
import type { Life } from '../life.js';
import { following, saysItPlainly } from '../patience.js';
import { judgeFleet } from './judge.js';
import type { FleetWorld } from './world.js';

export interface Play {
  readonly changes: number;
  readonly perBatch: number;
  /** Between two acts of violence. */
  readonly pauseMillisMax: number;
  /** How long a process stands still: longer than a member may be silent, or shorter. */
  readonly frozenMillis: readonly [number, number];
}

/**
 * Three processes share the sources while the platform changes. Again and again one of them is killed or stands
 * still, and comes back; one at least always runs. At the end all is equal, nothing is lost, and nobody wrote under
 * a fence that somebody else had.
 */
export async function playFleet(
  world: FleetWorld,
  { changes, perBatch, pauseMillisMax, frozenMillis: [shortest, longest] }: Play,
  random: Random,
  counters: Counters,
): Promise<Awaited<ReturnType<typeof judgeFleet>>> {
  const lives: Life[] = [];
  for (let host = 0; host < world.hosts; host += 1) lives.push(world.start(host));
  const away = new Set<number>();
  const over: Life[] = [];
  const returns: Promise<void>[] = [];
  let made = 0;

  const strike = async (host: number) => {
    const life = lives[host];
    if (life === undefined) return;
    away.add(host);
    if (random.fraction() < 0.5) {
      life.kill('SIGKILL');
      counters.add('killed');
      await life.ended;
      over.push(life);
      await systemClock.wait(random.fraction() * longest);
      const next = world.start(host);
      lives[host] = next;
      await following(next);
    } else {
      life.kill('SIGSTOP');
      const millis = shortest + random.fraction() * (longest - shortest);
      counters.add(millis > 8_000 ? 'stood still for longer than a member may' : 'stood still for a moment');
      await systemClock.wait(millis);
      life.kill('SIGCONT');
    }
    away.delete(host);
  };

  await Promise.all(lives.map(following));
  try {
    const changing = (async () => {
      for (; made < changes; made += perBatch) {
        await world.churn(Math.min(perBatch, changes - made));
        await systemClock.wait(random.fraction() * 50);
      }
    })();
    let quiet = false;
    const ended = changing.finally(() => {
      quiet = true;
    });
    while (!quiet || counters.of('killed') + returns.length === 0) {
      await systemClock.wait(random.fraction() * pauseMillisMax);
      const here = lives.map((_, host) => host).filter((host) => !away.has(host));
      if (here.length > 1) returns.push(strike(here[Math.floor(random.fraction() * here.length)] ?? 0));
    }
    await Promise.all([ended, ...returns]);
    const seen = await judgeFleet(world);
    for (const life of lives) life.kill('SIGTERM');
    await Promise.all(lives.map(({ ended: gone }) => gone));
    for (const life of [...over, ...lives]) saysItPlainly(life.printed());
    return seen;
  } finally {
    for (const life of lives) {
      life.kill('SIGCONT');
      life.kill('SIGKILL');
    }
  }
}
