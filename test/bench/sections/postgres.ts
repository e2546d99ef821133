import { randomBytes } from 'node:crypto';
import { urlOf, withClient } from '../../postgres/run-databases.js';
import { startPostgres } from '../../postgres/server.js';
import { measure, ratio, type Scale, type Section } from '../measures.js';
import { alone, type RunningFeed, withFeed } from '../processes.js';
import type { Variant } from '../variants.js';

export const postgres: Section = {
  name: 'postgres',
  each: false,
  says:
    'A first listing over loopback HTTP into a PostgreSQL of its own, beside the best set-based upsert: the text of a page ' +
    'handed over as it came, taken apart by jsonb_array_elements, one statement and one commit a page with its ' +
    'cursor, the same columns in one table, no secondary index.',
  measure: async (scale) => {
    const records = Math.min(100_000, ...scale.records);
    const server = scale.postgres === null ? await startPostgres() : null;
    const url = scale.postgres ?? server?.url ?? '';
    try {
      return await withFeed(scale, records, async (feed) => {
        const floor: number[] = [];
        const product: number[] = [];
        for (let round = 0; round < scale.rounds; round += 1) {
          floor.push(await listedBy('postgres-floor', scale, feed, url));
          product.push(await listedBy('product-bootstrap', scale, feed, url));
        }
        const rate = (name: string, seconds: readonly number[]) =>
          measure(
            name,
            'rec/s',
            seconds.map((one) => records / one),
          );
        return [
          ratio('speed ÷ set-based upsert', floor, product, { least: 0.8 }),
          rate('set-based upsert', floor),
          rate('rosterd', product),
        ];
      });
    } finally {
      await server?.close();
    }
  },
};

/** How many seconds a first listing into a database of its own takes. */
export function listedBy(name: Variant, scale: Scale, feed: RunningFeed, server: string): Promise<number> {
  return onFreshDatabase(server, async (database) => {
    const { seconds } = await alone(scale, name, feed, { database });
    return seconds?.[0] ?? Number.NaN;
  });
}

export async function onFreshDatabase<Value>(
  server: string,
  work: (url: string) => Promise<Value>,
): Promise<Value> {
  const database = `rosterd_bench_${randomBytes(5).toString('hex')}`;
  await withClient(server, (client) => client.query(`CREATE DATABASE ${database}`));
  try {
    return await work(urlOf(server, database));
  } finally {
    await withClient(server, (client) => client.query(`DROP DATABASE ${database} WITH (FORCE)`));
  }
}
