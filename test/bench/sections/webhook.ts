import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Agent, fetch } from 'undici';
import { Secret } from '../../../src/config/secrets.js';
import { type Daemon, startDaemon } from '../../../src/daemon/daemon.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { Lifecycle } from '../../../src/runtime/lifecycle.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { systemRandom } from '../../../src/runtime/random.js';
import { committedAfter, idOf, observedAt } from '../feed.js';
import { measure, quantile, ratio, type Section, times } from '../measures.js';
import { type RunningFeed, withFeed } from '../processes.js';
import { productConfig, productFile } from '../product.js';
import { startWebhookFloor } from '../webhook-floor.js';

const secret = 'whsec_benchbenchbenchbenchbenchbench';

/** Each change is measured as a lone one: without quiet seconds before it the daemon would space its ticks. */
const quietMillis = 6_000;

export const webhook: Section = {
  name: 'webhook',
  each: false,
  says:
    'From sending a signed webhook to the row changed for another connection: the daemon as it is, durable inbox ' +
    'included, beside a bare server that verifies, fetches the page and commits one upsert and the cursor, FULL.',
  measure: async (scale) => {
    const { turns, warmUp, rounds, records: sizes } = scale;
    const records = Math.min(10_000, ...sizes);
    const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-webhook-'));
    const parts = new Lifecycle();
    parts.add('folder', async () => rmSync(folder, { recursive: true, force: true }));
    return await withFeed(scale, records, async (feed) => {
      try {
        // A connection for each delivery: on a busy machine an idle one may be cut just as it is used again.
        const agent = new Agent({ connections: 1, pipelining: 0 });
        parts.add('agent', () => agent.destroy());
        const floor = await startWebhookFloor(join(folder, 'floor.db'), feed.url, secret);
        parts.add('floor', floor.close);
        let passed = 0;
        const daemon = await startFollowing(feed, folder, () => passed);
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
        return [
          ratio('median ÷ floor', of(1, 0.5), of(0, 0.5), { most: 2 }),
          ratio('p99 ÷ floor', of(1, 0.99), of(0, 0.99), { most: 2.5 }),
          measure('median', 'ms', of(1, 0.5)),
          measure('p99', 'ms', of(1, 0.99)),
          measure('median of the floor', 'ms', of(0, 0.5)),
          measure('p99 of the floor', 'ms', of(0, 0.99)),
        ];
      } finally {
        // Before the feed, of which the floor may still be reading.
        await parts.close();
      }
    });
  },
};

async function startFollowing(feed: RunningFeed, folder: string, passed: () => number): Promise<Daemon> {
  const base = productConfig(feed.url, folder, `sqlite:${productFile}`, {
    sync: { intervalSeconds: 3_600 },
    console: null,
    receiver: { listen: '127.0.0.1:0', secrets: [{ env: 'UNUSED' }] },
  });
  if (base.receiver === null) throw new Error('the daemon needs a receiver');
  const secrets = [new Secret('bench', secret, { env: {}, folder })];
  const daemon = await startDaemon({
    config: { ...base, receiver: { ...base.receiver, secrets } },
    clock: { ...systemClock, monotonic: () => systemClock.monotonic() + passed() },
    random: systemRandom,
    logger: silentLogger,
  });
  await daemon.engine.sync.idle();
  return daemon;
}

/** What another connection sees. */
function reading(parts: Lifecycle, file: string, sql: string): { committed(id: string): number | undefined } {
  const reader = new Sqlite(file, { readonly: true });
  parts.add('reader', async () => {
    reader.close();
  });
  const statement = reader.prepare<[string], number>(sql).pluck();
  return { committed: (id) => statement.get(id) };
}

async function announced(
  follower: { readonly url: string; committed(id: string): number | undefined },
  id: string,
  cents: number,
  dispatcher: Agent,
  turn: number,
): Promise<number> {
  const body = JSON.stringify({
    id: `evt_bench${turn}`,
    event: 'investment.changed',
    created_at: observedAt,
    data: { id, company: 'co_bench', observed_at: observedAt },
  });
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'service-signature': `t=${t},v1=${v1}` };
  const began = performance.now();
  const sent = fetch(follower.url, { method: 'POST', headers, body, dispatcher });
  while (follower.committed(id) !== cents) {
    if (performance.now() - began > 20_000) throw new Error('a change did not arrive within twenty seconds');
    await new Promise((resolve) => setImmediate(resolve));
  }
  const took = performance.now() - began;
  const response = await sent;
  if (response.status !== 202) throw new Error(`the receiver answered ${response.status}`);
  await response.arrayBuffer();
  return took;
}
