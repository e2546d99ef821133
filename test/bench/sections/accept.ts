import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Lifecycle } from '../../../src/runtime/lifecycle.js';
import { type Measure, measure, quantile, ratio, type Scale, type Section } from '../measures.js';
import { companyOf } from '../parts/platform.js';
import { startPart } from '../parts/start-part.js';

const records = 1_000;
/** Connections at the same time. */
const floods = [1, 32] as const;
/** Long enough that a delivery finds everything at rest. */
const restMillis = 10;
const leastPerSecond = 5_000;

type Receiver = 'bare server' | 'rosterd';

export const accept: Section = {
  name: 'accept',
  each: false,
  says:
    'Signed deliveries accepted a second over connections kept alive, one in flight on each; and the time of a lone ' +
    `delivery, ${restMillis} ms after the one before. The real daemon in a process of its own, with the ticks that the ` +
    'deliveries cause in an hour of 1,000 requests, compared with a bare server that reads the body and answers 202.',
  measure: async (scale) => {
    const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-accept-'));
    const lifecycle = new Lifecycle();
    lifecycle.add('folder', () => rmSync(folder, { recursive: true, force: true }));
    try {
      const send = await startReceivers(scale, folder, lifecycle);
      const found = new Map<string, number[]>();
      const add = (key: string, value: number) => found.set(key, [...(found.get(key) ?? []), value]);
      const each: readonly Receiver[] = ['bare server', 'rosterd'];
      for (const who of each) await send(who, Math.ceil(scale.deliveries / 10), floods[1], 0);
      for (let round = 0; round < scale.rounds; round += 1) {
        for (const connections of floods)
          for (const who of each) {
            const { millis } = await send(who, scale.deliveries, connections, 0);
            add(`${who} ${connections}`, scale.deliveries / (millis / 1000));
          }
        for (const who of each) {
          const lone = await send(who, Math.ceil(scale.deliveries / 10), 1, restMillis);
          add(`${who} p50`, quantile(lone.each, 0.5));
          add(`${who} p99`, quantile(lone.each, 0.99));
        }
      }
      const of = (who: Receiver, what: string | number) => found.get(`${who} ${what}`) ?? [];
      return [
        ...floods.flatMap((count): Measure[] => {
          const at = `at ${count} ${count === 1 ? 'connection' : 'connections'}`;
          const aim = count === 1 ? undefined : { least: leastPerSecond };
          return [
            ratio(`speed ${at} ÷ bare server`, of('rosterd', count), of('bare server', count)),
            measure(`accepted ${at}`, 'req/s', of('rosterd', count), aim),
            measure(`bare server ${at}`, 'req/s', of('bare server', count)),
          ];
        }),
        ...(['p50', 'p99'] as const).flatMap((what): Measure[] => [
          ratio(`lone delivery, ${what} ÷ bare server`, of('rosterd', what), of('bare server', what)),
          measure(`lone delivery, ${what}`, 'ms', of('rosterd', what)),
          measure(`lone delivery, ${what} of the bare server`, 'ms', of('bare server', what)),
        ]),
      ];
    } finally {
      await lifecycle.close();
    }
  },
};

async function startReceivers(scale: Scale, folder: string, lifecycle: Lifecycle) {
  const { apart } = scale;
  const company = companyOf(0);
  const platform = await startPart(scale, 'platform', { records: [records] }, lifecycle);
  const feedUrl = await platform.url();
  const options = { folder, feedUrl, companies: [company], requestsPerHour: 1_000, apart };
  const daemon = await startPart(scale, 'daemon', { ...options, watched: false, untilIdle: true }, lifecycle);
  const bare = await startPart(scale, 'bare server', {}, lifecycle);
  const sender = await startPart(scale, 'sender', {}, lifecycle);
  const urls = { 'bare server': await bare.url(), rosterd: await daemon.receiverUrl() };
  return (who: Receiver, count: number, connections: number, restMillis: number) =>
    sender.send({ url: urls[who], company, count, connections, restMillis });
}
