import type { Random } from '../../../src/runtime/random.js';
import type { Counters } from '../counters.js';
import { following, stopAtRest } from '../deadline.js';
import { judgeAtRest, judgeStopped } from '../judge.js';
import type { Life } from '../life.js';
import { openLocation, type Place } from '../place.js';
import { roundsIn, type Scenario } from '../scenario.js';

/** A scenario whose rounds act on a mirror beside one daemon, which is started again after a round that ended it. */
export const besideDaemon = (
  name: string,
  round: (place: Place, daemon: Life, random: Random, counters: Counters) => Promise<void>,
): Scenario => ({
  name,
  async open(setting) {
    const place = await openLocation({ ...setting, records: 60 });
    const start = async () => {
      const started = place.rosterd(['run']);
      await following(started);
      await judgeAtRest(place);
      return started;
    };
    let daemon = await start();
    const rounds = roundsIn(place, async (random, counters) => {
      // A failed round left no daemon running.
      if (daemon.over) daemon = await start();
      await round(place, daemon, random, counters);
    });
    return {
      round: rounds.round,
      async close() {
        if (!daemon.over) await stopAtRest(daemon);
        await judgeStopped(place);
        await place.close();
      },
    };
  },
});
