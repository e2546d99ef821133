import type { Random } from '../../../src/runtime/random.js';
import type { Counters } from '../counters.js';
import { endOf, following, inTime, saysItPlainly, stopAtRest } from '../deadline.js';
import { differences, held, judgeAtRest, truth } from '../judge.js';
import { judgeEnded } from '../judge-afresh.js';
import { openLocation, type Place, withoutReceiver } from '../place.js';
import { roundsIn, type Scenario } from '../scenario.js';
import { Violation } from '../violation.js';

/** Half of the records, so that what changed before a stop has likely changed again after it. */
const many = 30;

/**
 * Two programs on one database: one holds a source at a time, and an overtaken program writes nothing more.
 */
export const twoWriters: Scenario = {
  name: 'two-writers',
  async open(setting) {
    const place = await openLocation({ ...setting, records: 60 });
    return roundsIn(place, (random, counters) => {
      const drawn = random.fraction();
      if (drawn < 0.5) return overtaken(place, counters);
      return drawn < 0.75 && setting.server !== null
        ? fleetOfTwo(place, random, counters)
        : side(place, random, counters);
    });
  },
};

/** Freezes a daemon that has fetched a page until another has taken its lease, then wakes it. */
async function overtaken(place: Place, counters: Counters): Promise<void> {
  await place.churn(many);
  const sleeper = place.rosterd(['run'], {
    stop: { step: 'a page fetched', nth: 1, signal: 'SIGSTOP' },
  });
  await inTime(sleeper, sleeper.atStop, 'it asks for no page');
  await place.churn(many);
  await place.storage.expireLeases();
  const other = place.rosterd(['sync']);
  const { code } = await endOf(other);
  if (code !== 0) throw new Violation(`the second did not get the source: ${other.printed()}`);
  const wrong = differences(await truth(place), await place.look(held));
  if (wrong.length > 0) throw new Violation(`the second left ${wrong.length} records behind`);
  counters.add('overtaken while asleep');
  sleeper.kill('SIGCONT');
  await following(sleeper);
  await judgeAtRest(place);
  await stopAtRest(sleeper);
  await judgeEnded(place, counters);
}

/**
 * Two daemons that share their sources, and a `sync` beside them. The worker of the source dies, or the other one does.
 * Both listen on one port in turn: the second starts without a receiver.
 */
async function fleetOfTwo(place: Place, random: Random, counters: Counters): Promise<void> {
  const daemon = place.rosterd(['run']);
  await following(daemon);
  const second = place.rosterd(['run'], { configuration: withoutReceiver });
  await following(second);
  await place.churn(many);
  const sync = place.rosterd(['sync']);
  const { code } = await endOf(sync);
  saysItPlainly(sync.printed());
  if (code !== 0 && !/is held by|was taken over by|is worked by/.test(sync.printed()))
    throw new Violation(`beside a fleet, sync ended with ${code}: ${sync.printed()}`);
  const killsFirst = random.fraction() < 0.5;
  const [dies, stays] = killsFirst ? [daemon, second] : [second, daemon];
  dies.kill('SIGKILL');
  await endOf(dies);
  counters.add(killsFirst ? 'the first of a fleet killed' : 'the second of a fleet killed');
  await place.churn(1);
  await stopAtRest(stays);
  // The last webhook may not have been received: a start reads the feed.
  const last = place.rosterd(['run']);
  await following(last);
  await judgeAtRest(place);
  await stopAtRest(last);
  await judgeEnded(place, counters);
}

/** Runs both programs at full speed at the same time. */
async function side(place: Place, random: Random, counters: Counters): Promise<void> {
  if (random.fraction() < 0.3) await place.forgetEverything();
  const daemon = place.rosterd(['run']);
  await following(daemon);
  await place.churn(many);
  for (const other of [place.rosterd(['sync']), place.rosterd(['sync'])]) {
    const { code } = await endOf(other);
    saysItPlainly(other.printed());
    const refused = /is held by|was taken over by/.test(other.printed());
    if (code !== 0 && !refused)
      throw new Violation(`beside a daemon, sync ended with ${code}: ${other.printed()}`);
    counters.add(refused ? 'refused beside a daemon' : 'took turns with a daemon');
  }
  await place.churn(1);
  await judgeAtRest(place);
  await stopAtRest(daemon);
  await judgeEnded(place, counters);
}
