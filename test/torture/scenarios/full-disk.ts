import type { Random } from '../../../src/runtime/random.js';
import { randomText, systemRandom } from '../../../src/runtime/random.js';
import type { Counters } from '../counters.js';
import { deliver, hasRow } from '../deliver.js';
import { judgeAtRest, judgeStopped } from '../judge.js';
import { comesUp, endOf, following, saysItPlainly, stopAtRest } from '../patience.js';
import { openLocation, type Place } from '../place.js';
import { between, roundsIn, type Scenario } from '../scenario.js';
import { Violation } from '../violation.js';

/** Between the page counts of the empty schema and of the full mirror. */
const pages = { low: 40, high: 190 };

/**
 * The file may not grow beyond its n-th page until room is made. SQLite itself refuses there, with the error of a
 * full disk, so no privileges on the machine are needed.
 */
export const fullDisk: Scenario = {
  name: 'full-disk',
  async open(program) {
    const place = await openLocation({ program, records: 60, perPage: 20 });
    return roundsIn(place, (random, counters) => round(place, random, counters));
  },
};

async function round(place: Place, random: Random, counters: Counters): Promise<void> {
  await place.forgetEverything();
  const life = place.rosterd(['run'], { pagesMax: between(random, pages.low, pages.high) });
  if (!(await comesUp(life))) {
    const { code } = await endOf(life);
    if (code !== 1) throw new Violation(`full at its start, it ended with ${code}: ${life.printed()}`);
    if (!life.printed().includes('no room left')) throw new Violation(`not named: ${life.printed()}`);
    saysItPlainly(life.printed());
    counters.add('full before it followed');
    await judgeStopped(place);
    const next = place.rosterd(['run']);
    await following(next);
    await judgeAtRest(place);
    await stopAtRest(next);
    return;
  }
  await place.churn(10);
  // Until the file is full, or as long as there is room.
  for (let sent = 0; sent < 60; sent += 1) {
    const eventId = `evt_${randomText(systemRandom, 22)}`;
    const status = await deliver(place, eventId);
    if (status !== 202 && status !== 503) throw new Violation(`a delivery was answered ${status}`);
    const stored = hasRow(place, eventId);
    if (status === 202 && !stored) throw new Violation('202 was answered without a row');
    // A delivery that waited too long for a scrub is refused although its row is stored later: the next attempt finds
    // it.
    counters.add(status === 503 && stored ? 'refused, and stored after all' : `answered ${status}`);
    if (status === 503) break;
  }
  counters.add(life.printed().includes('no room left') ? 'full while following' : 'room enough');
  life.kill('SIGUSR2');
  // A delivery triggers what the next scheduled tick would do.
  await place.churn(1);
  await judgeAtRest(place);
  await stopAtRest(life);
  await judgeStopped(place);
}
