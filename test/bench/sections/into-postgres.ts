import { randomBytes } from 'node:crypto';
import { urlOf, withClient } from '../../postgres/run-databases.js';
import { startPostgres } from '../../postgres/server.js';
import { type Measure, measure, ratio, type Scale } from '../measures.js';
import { alone, type RunningFeed, withFeed } from '../processes.js';
import type { Variant } from '../variants.js';

/** The comparison for a first listing into PostgreSQL. */
export interface Other {
  readonly name: string;
  /** The name of the ratio, and its minimum. */
  readonly ratio: string;
  readonly least: number;
  /** Returns the seconds for a whole listing into a server. */
  seconds(feed: RunningFeed, server: string): Promise<number>;
}

/**
 * Alternates first listings by the other program and by the product, each into a new database on one server.
 */
export async function besideOurs(scale: Scale, records: number, other: Other): Promise<Measure[]> {
  const server = scale.postgres === null ? await startPostgres() : null;
  const url = scale.postgres ?? server?.url ?? '';
  try {
    return await withFeed(scale, records, async (feed) => {
      const theirs: number[] = [];
      const ours: number[] = [];
      for (let round = 0; round < scale.rounds; round += 1) {
        theirs.push(await other.seconds(feed, url));
        ours.push(await listedBy('product-bootstrap', scale, feed, url));
      }
      const rate = (name: string, seconds: readonly number[]) =>
        measure(
          name,
          'rec/s',
          seconds.map((one) => records / one),
        );
      return [
        ratio(other.ratio, theirs, ours, { least: other.least }),
        rate(other.name, theirs),
        rate('rosterd', ours),
      ];
    });
  } finally {
    await server?.close();
  }
}

/** Returns how many seconds a first listing into a new database takes. */
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
