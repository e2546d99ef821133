import { expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import { systemClock } from '../../src/runtime/clock.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { sourceNames, startMember, untilHeld, untilTicked } from './fleet/thousand.js';

/** `npm run proof:fleet` runs it with a thousand. */
const sources = sourceNames(40);

test('a fleet shares sources evenly, a busy source delays no other, and a leaving member is replaced', {
  timeout: 600_000,
}, async () => {
  const { url, drop } = await freshDatabase();
  const start = (name: string) => startMember({ url, name, sources, intervalMillis: 2_000 });
  const members = [await start('a'), await start('b'), await start('c')];
  await untilHeld(members, [14, 13, 13]);
  await untilTicked(members, sources, Number.NEGATIVE_INFINITY);

  const [hot = sources[0]] = sources;
  const worker = members.find(({ fleet }) => hot !== undefined && fleet.holds(hot));
  const ended = new AbortController();
  const nudging = (async () => {
    while (!ended.signal.aborted) {
      if (hot !== undefined) worker?.sync.nudge(hot);
      await systemClock.wait(5, ended.signal);
    }
  })();
  await untilTicked(members, sources, systemClock.monotonic());
  ended.abort();
  await nudging;

  const [first, ...others] = members;
  await first?.close();
  await untilHeld(others, [20, 20]);
  await untilTicked(others, sources, systemClock.monotonic());
  const holders = (source: SourceName) => others.filter(({ fleet }) => fleet.holds(source)).length;
  // A member that sent no heartbeats for eight seconds has lost its sources, and gets its share again.
  await expect.poll(() => sources.filter((source) => holders(source) !== 1)).toEqual([]);
  await Promise.all(others.map((member) => member.close()));
  await drop();
});
