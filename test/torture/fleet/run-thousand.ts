import { systemClock } from '../../../src/runtime/clock.js';
import { withClient } from '../../postgres/run-databases.js';
import { startPostgres } from '../../postgres/server.js';
import { readOptions } from '../../support/options.js';
import { sourceNames, startMember, untilHeld, untilTicked } from './thousand.js';

readOptions({
  name: 'npm run proof:fleet',
  about: `1,000 sources on three daemons. Measures how long it takes to share, sync and take over sources, the fleet's own
database load, and the effect of one constantly busy source on the others.`,
  options: {},
});
const intervalMillis = 60_000;
const sources = sourceNames(1_000);
const server = await startPostgres();
const say = (text: string) => process.stdout.write(`${text}\n`);
const seconds = (millis: number) => `${(millis / 1_000).toFixed(1)} s`;
const start = (name: string) => startMember({ url: server.url, name, sources, intervalMillis });
const beats = () =>
  withClient(server.url, async (client) => {
    const { rows } = await client.query<{ written: number }>(
      "SELECT n_tup_upd::int AS written FROM pg_stat_user_tables WHERE relname = 'fleet_members'",
    );
    return rows[0]?.written ?? 0;
  });

const members = [await start('a'), await start('b'), await start('c')];
say(`shared out 334, 333, 333 after ${seconds(await untilHeld(members, [334, 333, 333]))}`);
const first = systemClock.monotonic();
await untilTicked(members, sources, Number.NEGATIVE_INFINITY);
say(`every source listed after ${seconds(systemClock.monotonic() - first)}`);

const [hot] = sources;
if (hot === undefined) throw new Error('expected a thousand sources');
const worker = members.find(({ fleet }) => fleet.holds(hot));
const before = { beats: await beats(), at: systemClock.monotonic(), ticks: count() };
const ended = new AbortController();
const nudging = (async () => {
  while (!ended.signal.aborted) {
    worker?.sync.nudge(hot);
    await systemClock.wait(10, ended.signal);
  }
})();
await systemClock.wait(2 * intervalMillis);
ended.abort();
await nudging;
const passed = systemClock.monotonic() - before.at;
const gaps = sources
  .filter((source) => source !== hot)
  .map((source) => {
    const [one] = members.flatMap(({ ticks }) => ticks.get(source) ?? []).slice(-1);
    return systemClock.monotonic() - (one ?? 0);
  })
  .sort((one, other) => other - one);
const hotTicks = worker?.ticks.get(hot)?.filter((at) => at > before.at).length ?? 0;
say(`in ${seconds(passed)} with one source nudged a hundred times a second:`);
say(
  `  ${count() - before.ticks} ticks, ${hotTicks} of the hot one; longest since any other ticked: ${seconds(gaps[0] ?? 0)}`,
);
say(`  ${(await beats()) - before.beats} renewals of all leases of three daemons`);

const [one, two, three] = members;
if (one === undefined || two === undefined || three === undefined) throw new Error('expected three members');
const left = systemClock.monotonic();
await one.close();
say(`one left: 500 and 500 after ${seconds(await untilHeld([two, three], [500, 500]))}`);
await untilTicked([two, three], sources, left);
say(`  and all looked at again after ${seconds(systemClock.monotonic() - left)}`);
await Promise.all([two.close(), three.close()]);
await server.close();

function count(): number {
  return members.reduce(
    (sum, { ticks }) => sum + [...ticks.values()].reduce((all, at) => all + at.length, 0),
    0,
  );
}
