import { systemClock } from '../../../src/runtime/clock.js';
import type { Random } from '../../../src/runtime/random.js';
import type { Counters } from '../counters.js';
import { following, saysItPlainly } from '../deadline.js';
import { FeedHistory } from '../history.js';
import type { Life } from '../life.js';
import { judgeFleet, readFeed } from './judge.js';
import type { FleetLife, RunningFleet } from './running-fleet.js';
import { takenOver } from './taken-over.js';

export interface Play {
  readonly changes: number;
  readonly perBatch: number;
  /** The pause between two faults. */
  readonly pauseMillisMax: number;
  /** How long a process is frozen: longer or shorter than the time after which a member counts as dead. */
  readonly frozenMillis: readonly [number, number];
}

const blows = ['killed', 'stood still', 'overtaken in the middle of a tick'] as const;
type Blow = (typeof blows)[number];

/**
 * Three processes share the sources while the platform changes. Repeatedly one of them is killed or frozen, mostly
 * at a random moment, and returns; at least one is always running. Each kind of fault occurs at least once. At the
 * end every mirror row is equal, nothing is lost, and no process wrote under another's fence.
 */
export async function playFleet(
  world: RunningFleet,
  { changes, perBatch, pauseMillisMax, frozenMillis: [shortest, longest] }: Play,
  random: Random,
  counters: Counters,
): Promise<Awaited<ReturnType<typeof judgeFleet>>> {
  const lives: FleetLife[] = [];
  for (let host = 0; host < world.hosts; host += 1) lives.push(world.start(host));
  const away = new Set<number>();
  const over: Life[] = [];
  const returns: Promise<void>[] = [];
  const done = new Set<Blow>();
  let made = 0;

  const killed = async (life: Life) => {
    life.kill('SIGKILL');
    await life.ended;
    over.push(life);
  };

  /** After the last change no process would fetch a page, so this makes more changes until one does. */
  const comesToStop = async (life: Life) => {
    let there = false;
    const stop = life.atStop.then(() => {
      there = true;
    });
    while (!there) {
      await world.churn(1);
      const pause = new AbortController();
      await Promise.race([stop, systemClock.wait(250, pause.signal)]);
      pause.abort();
    }
  };

  const strikes: Readonly<Record<Blow, (host: number, life: Life) => Promise<void>>> = {
    killed: async (host, life) => {
      await killed(life);
      await systemClock.wait(random.fraction() * longest);
      const next = world.start(host);
      lives[host] = next;
      await following(next);
      counters.add('killed');
    },
    'stood still': async (_, life) => {
      life.kill('SIGSTOP');
      const millis = shortest + random.fraction() * (longest - shortest);
      counters.add(millis > 8_000 ? 'stood still for longer than a member may' : 'stood still for a moment');
      await systemClock.wait(millis);
      life.kill('SIGCONT');
    },
    // A random freeze hardly ever falls between reading a page and writing it, and only the fence keeps that page out.
    'overtaken in the middle of a tick': async (host, life) => {
      await killed(life);
      const nth = 1 + Math.floor(random.fraction() * 4);
      const next = world.start(host, { step: 'a page fetched', nth, signal: 'SIGSTOP' });
      lives[host] = next;
      await comesToStop(next);
      await takenOver(world, next);
      next.kill('SIGCONT');
      await following(next);
      counters.add('overtaken in the middle of a tick');
    },
  };

  const strike = async (host: number) => {
    const life = lives[host];
    if (life === undefined) return;
    away.add(host);
    const missing = blows.filter((blow) => !done.has(blow));
    const among = missing.length > 0 ? missing : blows;
    const blow = among[Math.floor(random.fraction() * among.length)] ?? 'killed';
    done.add(blow);
    await strikes[blow](host, life);
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
    const feed = new FeedHistory();
    const reading = (async () => {
      for (let turn = 0; !quiet; turn += 1) {
        await readFeed(world, feed, turn);
        await systemClock.wait(100);
      }
    })();
    reading.catch(() => {});
    while (!quiet || done.size < blows.length) {
      await systemClock.wait(random.fraction() * pauseMillisMax);
      const here = lives.map((_, host) => host).filter((host) => !away.has(host));
      if (here.length > 1) returns.push(strike(here[Math.floor(random.fraction() * here.length)] ?? 0));
    }
    await Promise.all([ended, reading, ...returns]);
    const seen = await judgeFleet(world, feed);
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
