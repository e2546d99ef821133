import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from 'undici';
import { Lifecycle } from '../../../src/runtime/lifecycle.js';
import { secret } from '../deliveries.js';
import { committedAfter, idOf } from '../feed.js';
import { changeSeen, type Follower, withFollower } from '../followers.js';
import { announced, quietMillis, reading, startFollowing } from '../following.js';
import { measure, quantile, ratio, type Scale, type Section, times } from '../measures.js';
import { withFeed } from '../processes.js';
import { productFile } from '../product.js';
import { startWebhookFloor } from '../webhook-floor.js';

export const webhook: Section = {
  name: 'webhook',
  each: false,
  says:
    'From sending a signed webhook to the changed row on another connection: the real daemon, durable inbox ' +
    'included, compared with a bare server that verifies, fetches the page and commits one upsert and the cursor, FULL. ' +
    'Beside the lean floor, connections are kept alive, and platform, receiver and the polling reader are processes of ' +
    'their own; that floor stores each delivery in a FULL commit too, and uses `dispatch`.',
  measure: async (scale) => {
    const { turns, warmUp, rounds, records: sizes } = scale;
    const records = Math.min(10_000, ...sizes);
    const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-webhook-'));
    const parts = new Lifecycle();
    parts.add('folder', async () => rmSync(folder, { recursive: true, force: true }));
    return await withFeed(scale, records, async (feed) => {
      try {
        // A connection for each delivery: on a busy machine an idle one may be cut just as it is reused.
        const agent = new Agent({ connections: 1, pipelining: 0 });
        parts.add('agent', () => agent.destroy());
        const floor = await startWebhookFloor(join(folder, 'floor.db'), feed.url, secret);
        parts.add('floor', floor.close);
        let passed = 0;
        const daemon = await startFollowing(feed.url, folder, () => passed);
        parts.add('daemon', daemon.close);
        const followers = [
          {
            url: floor.url,
            ...reading(parts, join(folder, 'floor.db'), 'SELECT committed_cents FROM rows WHERE id = ?'),
          },
          {
            url: daemon.receiverUrl ?? '',
            ...reading(
              parts,
              join(folder, productFile),
              'SELECT committed_cents FROM investments WHERE id = ?',
            ),
          },
        ];
        const took = followers.map(() => times(rounds).map((): number[] => []));
        for (let turn = -warmUp; turn < rounds * turns; turn += 1) {
          passed += quietMillis;
          const no = (turn + warmUp) * 7;
          const place = await feed.change(no);
          const id = idOf(no % records);
          const cents = committedAfter(no % records, place);
          const order = turn % 2 === 0 ? [0, 1] : [1, 0];
          for (const who of order) {
            const follower = followers[who];
            if (follower === undefined) continue;
            const millis = await announced(follower, id, cents, agent, turn + warmUp);
            if (turn >= 0) took[who]?.[Math.floor(turn / turns)]?.push(millis);
          }
        }
        const of = (who: number, share: number) => (took[who] ?? []).map((millis) => quantile(millis, share));
        const lean = await besideLeanFloor(scale, records);
        return [
          ratio('median ÷ floor', of(1, 0.5), of(0, 0.5), { most: 2 }),
          ratio('p99 ÷ floor', of(1, 0.99), of(0, 0.99), { most: 2.5 }),
          measure('median', 'ms', of(1, 0.5)),
          measure('p99', 'ms', of(1, 0.99)),
          measure('median of the floor', 'ms', of(0, 0.5)),
          measure('p99 of the floor', 'ms', of(0, 0.99)),
          ratio('median ÷ lean floor', lean('rosterd', 0.5), lean('lean floor', 0.5), { most: 1.5 }),
          ratio('p99 ÷ lean floor', lean('rosterd', 0.99), lean('lean floor', 0.99), { most: 2 }),
          measure('median, beside the lean floor', 'ms', lean('rosterd', 0.5)),
          measure('p99, beside the lean floor', 'ms', lean('rosterd', 0.99)),
          measure('median of the lean floor', 'ms', lean('lean floor', 0.5)),
          measure('p99 of the lean floor', 'ms', lean('lean floor', 0.99)),
        ];
      } finally {
        // Before the feed, from which the floor may still be reading.
        await parts.close();
      }
    });
  },
};

/** Both follow the same changes in alternating order, each on its own platform. Returns a quantile for each round. */
async function besideLeanFloor(
  scale: Scale,
  records: number,
): Promise<(who: Follower, share: number) => readonly number[]> {
  const { turns, warmUp, rounds } = scale;
  const took: Readonly<Record<Follower, number[][]>> = { 'lean floor': [], rosterd: [] };
  await withFollower(scale, 'lean floor', [records], null, (floor) =>
    withFollower(scale, 'rosterd', [records], null, async (ours) => {
      const works = [['lean floor', floor] as const, ['rosterd', ours] as const];
      for (let turn = -warmUp; turn < rounds * turns; turn += 1)
        for (const [who, following] of turn % 2 === 0 ? works : works.toReversed()) {
          await following.pass(quietMillis);
          const millis = await changeSeen(following, turn + warmUp + 1);
          const round = Math.floor(turn / turns);
          if (turn < 0) continue;
          took[who][round] ??= [];
          took[who][round]?.push(millis);
        }
    }),
  );
  return (who, share) => took[who].map((millis) => quantile(millis, share));
}
