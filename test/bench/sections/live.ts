import { setTimeout as pause } from 'node:timers/promises';
import { changeSeen, type Follower, visibleAfter, withFollower } from '../followers.js';
import { quietMillis } from '../following.js';
import { type Measure, measure, quantile, ratio, type Scale, type Section, times } from '../measures.js';
import type { PartOf } from '../parts/index.js';

/** The platform's quota for a token. */
const requestsPerHour = 1_000;
/** Records of all sources together: their listing should cost little of the hour's quota. */
const recordsOfAll = 1_000;

/** Changes before those that count: at 0.2 a second, the first alone would decide the p99. */
const warmUp = 10;

export const live: Section = {
  name: 'live',
  each: false,
  says:
    'From a change on the platform to its visible row on another connection, in real time over connections kept alive. ' +
    'Changes arrive at random (Poisson, seeded), for a minute at each rate unless `--seconds` says otherwise; every source ' +
    'has a token with a fresh hour of 1,000 requests. Requests are those sent meanwhile; companies and rounds, which the floor ' +
    'does not have, are listed before. Compared with the lean floor under ' +
    'the same changes: a tick for each webhook, and no budget. Measured once, whatever the rounds.',
  measure: async (scale) => {
    const found: Measure[] = [];
    for (const sources of scale.live.sources)
      for (const perSecond of scale.live.rates) {
        const floor = await followed(scale, 'lean floor', sources, perSecond);
        const ours = await followed(scale, 'rosterd', sources, perSecond);
        const where = `${sources} ${sources === 1 ? 'source' : 'sources'}, ${perSecond} a second`;
        const p = (share: number) => (run: Followed) => [quantile(run.millis, share)];
        const requests = ({ requests }: Followed) => [requests];
        found.push(
          ratio(`${where}: median ÷ lean floor`, p(0.5)(ours), p(0.5)(floor), { most: 1.5 }),
          ratio(`${where}: p99 ÷ lean floor`, p(0.99)(ours), p(0.99)(floor), { most: 2 }),
          ratio(`${where}: requests ÷ lean floor`, requests(ours), requests(floor), { most: 1 }),
          measure(`${where}: median`, 'ms', p(0.5)(ours)),
          measure(`${where}: p99`, 'ms', p(0.99)(ours)),
          measure(`${where}: requests`, 'requests', requests(ours)),
          measure(`${where}: median of the lean floor`, 'ms', p(0.5)(floor)),
          measure(`${where}: p99 of the lean floor`, 'ms', p(0.99)(floor)),
          measure(`${where}: requests of the lean floor`, 'requests', requests(floor)),
        );
      }
    return found;
  },
};

interface Followed {
  readonly millis: readonly number[];
  readonly requests: number;
}

const followed = (scale: Scale, who: Follower, sources: number, perSecond: number): Promise<Followed> => {
  const records = times(sources).map(() => Math.ceil(recordsOfAll / sources));
  return withFollower(scale, who, records, requestsPerHour, async ({ platform, reader, pass }) => {
    for (let place = 1; place <= Math.min(warmUp, scale.warmUp); place += 1) {
      await pass(quietMillis);
      await changeSeen({ platform, reader, pass }, place);
    }
    await pass(quietMillis);
    await rests(platform, scale.live.restMillis);
    await reader.watch(true);
    const before = await platform.requests();
    const { seconds } = scale.live;
    const traffic = { seed: 1, perSecond, seconds, sources: times(sources) };
    const millis = await visibleAfter(reader, await platform.traffic(traffic));
    return { millis, requests: (await platform.requests()) - before };
  });
};

/** Resolves when no request has arrived for so long. */
async function rests(platform: PartOf<'platform'>, millis: number): Promise<void> {
  for (let before = -1; ; await pause(millis)) {
    const requests = await platform.requests();
    if (requests === before) return;
    before = requests;
  }
}
