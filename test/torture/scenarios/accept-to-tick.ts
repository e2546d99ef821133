import { systemClock } from '../../../src/runtime/clock.js';
import type { Random } from '../../../src/runtime/random.js';
import type { Counters } from '../counters.js';
import { comesUp, endOf, following, saysItPlainly, stopAtRest } from '../deadline.js';
import { judgeAtRest, judgeStopped } from '../judge.js';
import { judgeEnded } from '../judge-afresh.js';
import type { Life } from '../life.js';
import { openLocation, type Place } from '../place.js';
import { between, pick, roundsIn, type Scenario } from '../scenario.js';
import { type Stop, steps, stepsOfListings } from '../steps.js';
import { Violation } from '../violation.js';

/** Kills the daemon anywhere between the arrival of a delivery and the end of the tick that processes it. */
export const acceptToTick = stoppedAnywhere('accept-to-tick', 'SIGKILL');

/** Sends SIGTERM anywhere: the daemon exits with 0 and leaves a consistent state. */
export const sigterm = stoppedAnywhere('sigterm', 'SIGTERM');

type Signal = 'SIGKILL' | 'SIGTERM';

function stoppedAnywhere(name: string, signal: Signal): Scenario {
  return {
    name,
    async open(setting) {
      const place = await openLocation({ ...setting, records: 60, perPage: 20 });
      return roundsIn(place, (random, counters) => round(place, signal, random, counters));
    },
  };
}

/** Several processes end before one repairs the state: each begins with what the previous one left. */
async function round(place: Place, signal: Signal, random: Random, counters: Counters) {
  await strike(place, signal, random, counters);
  for (let more = between(random, 0, 3); more > 0; more -= 1) await strike(place, signal, random, counters);

  const last = place.rosterd(['run']);
  await following(last);
  await judgeAtRest(place);
  await stopAtRest(last);
  await judgeEnded(place, counters);
}

async function strike(place: Place, signal: Signal, random: Random, counters: Counters) {
  const stop: Stop | null =
    random.fraction() < 0.75
      ? { step: pick(random, steps), nth: random.fraction() < 0.6 ? 1 : 2, signal }
      : null;
  if (stop === null ? random.fraction() < 0.3 : stepsOfListings.includes(stop.step))
    await place.forgetEverything();
  const changes = between(random, 1, 6);
  const afterMillis = between(random, 0, 300);
  const life = place.rosterd(['run'], stop === null ? {} : { stop });
  if (await comesUp(life)) {
    await place.churn(changes);
    if (stop === null) await within(afterMillis, life.ended);
    else await comesToStopOrRest(place, life);
    // A step that comes twice may only come with the next changes.
    if (stop !== null && !struck(life) && !life.over) {
      await place.churn(changes);
      await comesToStopOrRest(place, life);
    }
  }
  if (stop === null) counters.add(`${signal} at random`);
  else counters.add(`${signal} ${struck(life) ? stop.step : 'at rest'}`);
  const byHand = !struck(life);
  if (byHand) life.kill(signal);
  const { code, signal: by } = await endOf(life);
  // The process reached its step just as the signal was sent by hand: a second signal quits at once, or ends a process
  // that listens no longer.
  const askedTwice = byHand && struck(life);
  const clean =
    signal === 'SIGTERM' ? code === 0 || (askedTwice && (code === 5 || by === signal)) : by === signal;
  if (!clean) throw new Violation(`ended with ${code ?? by}: ${life.printed()}`);
  saysItPlainly(life.printed());
  if (place.outlived()) counters.add(`${signal} while it scrubbed: the next one begins beside the scrub`);
  else await judgeStopped(place);
}

const struck = (life: Life) => life.printed().includes('came to: ');

/** An idle daemon reaches no further step by itself. */
async function comesToStopOrRest(place: Place, life: Life): Promise<void> {
  const calledOff = new AbortController();
  const rest = judgeAtRest(place, calledOff.signal);
  try {
    await Promise.race([life.atStop, rest]);
  } finally {
    calledOff.abort();
  }
  await rest;
}

async function within(millis: number, wanted: Promise<unknown>): Promise<void> {
  const there = new AbortController();
  await Promise.race([wanted, systemClock.wait(millis, there.signal)]);
  there.abort();
}
