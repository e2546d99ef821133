import { systemClock } from '../../../src/runtime/clock.js';
import type { Random } from '../../../src/runtime/random.js';
import type { Counters } from '../counters.js';
import { judgeAtRest, judgeStopped, Violation } from '../judge.js';
import { endOf, following, saysItPlainly, stopAtRest } from '../patience.js';
import { openPlace, type Place } from '../place.js';
import { between, pick, roundsIn, type Scenario } from '../scenario.js';
import { type Stop, steps, stepsOfListings } from '../steps.js';

/** A step that is not reached within this time is one that this life does not come to. */
const reachMillis = 1_500;

/** Killed anywhere between the arrival of a delivery and the end of the tick that works it. */
export const acceptToTick = stoppedAnywhere('accept-to-tick', 'SIGKILL');

/** Asked to stop anywhere: it ends with 0, and as if it had not been. */
export const sigterm = stoppedAnywhere('sigterm', 'SIGTERM');

type Signal = 'SIGKILL' | 'SIGTERM';

function stoppedAnywhere(name: string, signal: Signal): Scenario {
  return {
    name,
    async open(program) {
      const place = await openPlace({ program, records: 60, perPage: 20 });
      return roundsIn(place, (random, counters) => round(place, signal, random, counters));
    },
  };
}

/** Several lives end before one heals what they left: each begins on what the one before could not mend. */
async function round(place: Place, signal: Signal, random: Random, counters: Counters) {
  await strike(place, signal, random, counters);
  for (let more = between(random, 0, 3); more > 0; more -= 1) await strike(place, signal, random, counters);

  const last = place.rosterd(['run']);
  await following(last);
  await judgeAtRest(place);
  await stopAtRest(last);
  await judgeStopped(place);
}

async function strike(place: Place, signal: Signal, random: Random, counters: Counters) {
  const stop: Stop | null =
    random.fraction() < 0.75
      ? { step: pick(random, steps), nth: random.fraction() < 0.6 ? 1 : 2, signal }
      : null;
  if (stop === null ? random.fraction() < 0.3 : stepsOfListings.includes(stop.step)) place.forgetEverything();
  const changes = between(random, 1, 6);
  const afterMillis = between(random, 0, 300);
  const life = place.rosterd(['run'], stop === null ? {} : { stop });
  if (await life.ready) {
    await place.churn(changes);
    const patience = new AbortController();
    const waited = systemClock.wait(stop === null ? afterMillis : reachMillis, patience.signal);
    await Promise.race([stop === null ? life.ended : life.atStop, waited]);
    patience.abort();
  }
  if (stop === null) counters.add(`${signal} at random`);
  else counters.add(`${signal} ${life.printed().includes('came to: ') ? stop.step : 'at rest'}`);
  if (stop === null || !life.printed().includes('came to: ')) life.kill(signal);
  const { code, signal: by } = await endOf(life);
  const clean = signal === 'SIGTERM' ? code === 0 : by === 'SIGKILL';
  if (!clean) throw new Violation(`ended with ${code ?? by}: ${life.printed()}`);
  saysItPlainly(life.printed());
  await judgeStopped(place);
}
