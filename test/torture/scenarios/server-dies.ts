import { systemClock } from '../../../src/runtime/clock.js';
import { type Random, randomText, systemRandom } from '../../../src/runtime/random.js';
import { withClient } from '../../postgres/run-databases.js';
import { type PostgresServer, startPostgres } from '../../postgres/server.js';
import type { Counters } from '../counters.js';
import { Deadline, following, stopAtRest } from '../deadline.js';
import { deliver, hasRow } from '../deliver.js';
import { judgeAtRest } from '../judge.js';
import { judgeEnded } from '../judge-afresh.js';
import { openLocation, type Place } from '../place.js';
import { between, pick, roundsIn, type Scenario } from '../scenario.js';
import { Violation } from '../violation.js';

/**
 * The server ends sessions, loses one of its processes, is stopped, or dies with what it had not written. The daemon stays,
 * refuses deliveries meanwhile, loses none that it accepted, and follows again by itself.
 */
export const serverDies: Scenario = {
  name: 'server-dies',
  async open(setting) {
    const server = await startPostgres();
    const place = await openLocation({ ...setting, server: server.url, records: 60, perPage: 20 });
    const { round } = roundsIn(place, (random, counters) => play(place, server, random, counters));
    return {
      round,
      async close() {
        await server.start();
        await place.close();
        await server.close();
      },
    };
  },
};

const blows = ['sessions ended', 'a process killed', 'all killed', 'stopped'] as const;

async function strike(
  server: PostgresServer,
  blow: (typeof blows)[number],
  downMillis: number,
): Promise<void> {
  if (blow === 'sessions ended')
    return withClient(server.url, async (client) => {
      await client.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'rosterd%'",
      );
    });
  if (blow === 'a process killed') return server.crash();
  await (blow === 'all killed' ? server.kill() : server.stop());
  await systemClock.wait(downMillis);
  await server.start();
}

async function play(place: Place, server: PostgresServer, random: Random, counters: Counters): Promise<void> {
  if (random.fraction() < 0.3) await place.forgetEverything();
  const life = place.rosterd(['run']);
  await following(life);
  const accepted: string[] = [];
  for (let times = between(random, 1, 3); times > 0; times -= 1) {
    const blow = pick(random, blows);
    const [changes, beforeMillis] = [between(random, 1, 20), between(random, 0, 150)];
    const downMillis = between(random, 0, 1_500);
    const over = new AbortController();
    const sending = (async () => {
      while (!over.signal.aborted) {
        const eventId = `evt_${randomText(systemRandom, 22)}`;
        const status = await deliver(place, eventId);
        if (status === 202) accepted.push(eventId);
        else if (status !== 503) throw new Violation(`under "${blow}" a delivery was answered ${status}`);
        counters.add(`answered ${status}`);
      }
    })();
    sending.catch(() => {});
    await place.churn(changes);
    await systemClock.wait(beforeMillis);
    await strike(server, blow, downMillis);
    over.abort();
    await sending;
    counters.add(blow);
  }
  for (const eventId of accepted)
    if (!(await hasRow(place, eventId)))
      throw new Violation(`202 was answered for ${eventId}, which has no row`);
  // The platform delivers a refused webhook again only after a while.
  const deadline = new Deadline([life]);
  while ((await deliver(place, `evt_${randomText(systemRandom, 22)}`)) !== 202 && !deadline.over)
    await deadline.turn();
  await place.churn(1);
  if (life.over) throw new Violation(`the daemon ended with the server: ${life.printed()}`);
  await judgeAtRest(place);
  await stopAtRest(life);
  await judgeEnded(place, counters);
}
