import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Lifecycle } from '../../../src/runtime/lifecycle.js';
import { measure, quantile, ratio, type Scale, type Section } from '../measures.js';
import { companyOf } from '../parts/platform.js';
import { startPart } from '../parts/start-part.js';
import { alone, withFeed } from '../processes.js';

export const delta: Section = {
  name: 'delta',
  each: true,
  says:
    'A tick that finds one changed record, compared with a round trip with one upsert and the cursor in a FULL commit into a ' +
    'table of as many records; both read the same change, in turns. The lean floor uses `dispatch` instead of `fetch`, writes ' +
    'the row of an event in the same commit, and runs in a process of its own, as does the daemon compared with it.',
  measure: (scale, records) =>
    withFeed(scale, records, async (feed) => {
      const { floorP50, floorP99, productP50, productP99 } = await alone(scale, 'delta', feed);
      if (!floorP50 || !floorP99 || !productP50 || !productP99)
        throw new Error('the variant returned fewer figures');
      const lean = await leanDelta(scale, records);
      return [
        ratio('median ÷ floor', productP50, floorP50, { most: 1.5 }),
        ratio('p99 ÷ floor', productP99, floorP99, { most: 2 }),
        measure('median', 'ms', productP50),
        measure('p99', 'ms', productP99),
        measure('median of the floor', 'ms', floorP50),
        measure('p99 of the floor', 'ms', floorP99),
        ratio('median ÷ lean floor', lean.product(0.5), lean.floor(0.5), { most: 1.8 }),
        ratio('p99 ÷ lean floor', lean.product(0.99), lean.floor(0.99), { most: 2 }),
        measure('median, beside the lean floor', 'ms', lean.product(0.5)),
        measure('p99, beside the lean floor', 'ms', lean.product(0.99)),
        measure('median of the lean floor', 'ms', lean.floor(0.5)),
        measure('p99 of the lean floor', 'ms', lean.floor(0.99)),
      ];
    }),
};

/** Both read each change, in alternating order. Returns their quantiles, one for each round. */
async function leanDelta(scale: Scale, records: number) {
  const { turns, warmUp, rounds } = scale;
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-delta-'));
  const lifecycle = new Lifecycle();
  lifecycle.add('folder', () => rmSync(folder, { recursive: true, force: true }));
  const took = { floor: [] as number[][], product: [] as number[][] };
  try {
    const platform = await startPart(scale, 'platform', { records: [records] }, lifecycle);
    const common = { feedUrl: await platform.url(), companies: [companyOf(0)] };
    const file = join(folder, 'lean.db');
    const floor = await startPart(scale, 'lean floor', { ...common, file }, lifecycle);
    const options = { ...common, folder, requestsPerHour: null, watched: false, untilIdle: true };
    const product = await startPart(scale, 'daemon', options, lifecycle);
    const works = [
      ['floor', () => floor.tick(0)],
      ['product', () => product.tick(0)],
    ] as const;
    for (let turn = -warmUp; turn < rounds * turns; turn += 1) {
      await platform.alter(0, (turn + warmUp) * 7);
      for (const [who, work] of turn % 2 === 0 ? works : works.toReversed()) {
        const millis = await work();
        if (turn < 0) continue;
        const round = Math.floor(turn / turns);
        took[who][round] ??= [];
        took[who][round]?.push(millis);
      }
    }
  } finally {
    await lifecycle.close();
  }
  const of = (rounds: readonly number[][]) => (share: number) =>
    rounds.map((millis) => quantile(millis, share));
  return { floor: of(took.floor), product: of(took.product) };
}
