import { createHmac } from 'node:crypto';
import Sqlite from 'better-sqlite3';
import { type Agent, fetch } from 'undici';
import { Secret } from '../../src/config/secrets.js';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import { systemClock } from '../../src/runtime/clock.js';
import type { Lifecycle } from '../../src/runtime/lifecycle.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { systemRandom } from '../../src/runtime/random.js';
import { secret } from './deliveries.js';
import { observedAt } from './feed.js';
import { productConfig, productFile } from './product.js';

/** Each change comes alone: without this pause before it the daemon would space its ticks. */
export const quietMillis = 6_000;

/** Starts the real daemon. `passed` is added to its monotonic clock. */
export async function startFollowing(feedUrl: string, folder: string, passed: () => number): Promise<Daemon> {
  const base = productConfig(feedUrl, folder, `sqlite:${productFile}`, {
    sync: { intervalSeconds: 3_600 },
    console: null,
    receiver: { listen: '127.0.0.1:0', secrets: [{ env: 'UNUSED' }] },
  });
  if (base.receiver === null) throw new Error('the benchmark needs a receiver');
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
export function reading(
  parts: Lifecycle,
  file: string,
  sql: string,
): { committed(id: string): number | undefined } {
  const reader = new Sqlite(file, { readonly: true });
  parts.add('reader', async () => {
    reader.close();
  });
  const statement = reader.prepare<[string], number>(sql).pluck();
  return { committed: (id) => statement.get(id) };
}

/** Sends the webhook of a change and waits until it is visible. Returns how long that took. */
export async function announced(
  follower: { readonly url: string; committed(id: string): number | undefined },
  id: string,
  cents: number | undefined,
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
  // After the machine stalled, the receiver may ask for a retry and still store this delivery.
  if (response.status !== 202 && response.status !== 503)
    throw new Error(`the receiver answered ${response.status}`);
  await response.arrayBuffer();
  return took;
}
