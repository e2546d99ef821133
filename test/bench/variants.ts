import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Agent, fetch } from 'undici';
import { defined } from '../../src/domain/defined.js';
import { changeAt } from './feed-client.js';
import { type FloorOptions, feedPath, lasting, naive, openFloor, suitableIndexes, tuned } from './floors.js';
import { leanBootstrap } from './lean/listing.js';
import { quantile, times } from './measures.js';
import { peakMegabytes } from './peak-memory.js';
import { listInto } from './postgres-floor.js';
import { openProduct, productFile, tickOf } from './product.js';
import { soak } from './soak.js';
import { tickParts } from './tick-parts.js';

/* The measurements that run in their own process, each a function of its feed and its size. */

/** Figures by name, a list for each because some have their own rounds. */
export type Result = Readonly<Record<string, readonly number[]>>;

export interface Amount {
  readonly turns: number;
  readonly warmUp: number;
  readonly rounds: number;
  /** The duration of a soak, if it is not a number of changes. */
  readonly seconds?: number;
  /** An empty PostgreSQL database to fill; an SQLite file by default. */
  readonly database?: string;
}

export interface Stage extends Amount {
  readonly baseUrl: string;
  /** A new folder, deleted at the end. */
  readonly folder: string;
  /** Marks a record as changed in the feed. */
  change(no: number, gone?: boolean): Promise<number>;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function fetchOnly({ baseUrl }: Stage): Promise<Result> {
  const agent = new Agent({ connections: 1 });
  const millis = await timed(async () => {
    let cursor = '';
    for (let more = true; more; ) {
      const text = await (await fetch(`${baseUrl}${feedPath}${cursor}`, { dispatcher: agent })).text();
      const tail = text.slice(-300);
      more = tail.includes('"has_more":true');
      cursor = `&cursor=${/"next_cursor":"([^"]+)"/.exec(tail)?.[1]}`;
    }
  });
  await agent.destroy();
  return { seconds: [millis / 1000] };
}

async function floorBootstrap(
  { baseUrl, folder }: Stage,
  options: FloorOptions,
  indexes: string,
): Promise<Result> {
  const file = join(folder, 'floor.db');
  const floor = openFloor(file, baseUrl, options);
  const millis = await timed(async () => {
    while (await floor.page());
    floor.db.exec(indexes);
  });
  floor.db.pragma('wal_checkpoint(TRUNCATE)');
  await floor.close();
  return { seconds: [millis / 1000], bytes: [statSync(file).size] };
}

async function productBootstrap({ baseUrl, folder, database }: Stage): Promise<Result> {
  const engine = await openProduct(baseUrl, folder, defined({ database }));
  const millis = await timed(() => tickOf(engine));
  await engine.close();
  const bytes = database === undefined ? [statSync(join(folder, productFile)).size] : [];
  return { seconds: [millis / 1000], bytes };
}

async function postgresFloor({ baseUrl, database = '' }: Stage): Promise<Result> {
  return { seconds: [(await timed(() => listInto(database, baseUrl))) / 1000] };
}

async function productRelisting({ baseUrl, folder }: Stage): Promise<Result> {
  const engine = await openProduct(baseUrl, folder);
  await tickOf(engine);
  const before = statSync(join(folder, productFile)).size;
  const millis = await timed(() => tickOf(engine, true));
  await engine.close();
  return { seconds: [millis / 1000], grown: [statSync(join(folder, productFile)).size - before] };
}

/** Both follow the same feed: each change is read by one and then by the other, in alternating order. */
async function delta({ baseUrl, folder, change, turns, warmUp, rounds }: Stage): Promise<Result> {
  const floor = openFloor(join(folder, 'floor.db'), baseUrl, lasting);
  while (await floor.page());
  const engine = await openProduct(baseUrl, folder);
  await tickOf(engine);
  const result = { floorP50: [0], floorP99: [0], productP50: [0], productP99: [0] };
  for (const round of times(rounds)) {
    const took: { floor: number[]; product: number[] } = { floor: [], product: [] };
    for (let turn = round === 0 ? -warmUp : 0; turn < turns; turn += 1) {
      await change((round * turns + turn + warmUp) * 7);
      const works = [
        ['floor', () => floor.page()],
        ['product', () => tickOf(engine)],
      ] as const;
      for (const [who, work] of turn % 2 === 0 ? works : works.toReversed()) {
        const millis = await timed(work);
        if (turn >= 0) took[who].push(millis);
      }
    }
    result.floorP50[round] = quantile(took.floor, 0.5);
    result.floorP99[round] = quantile(took.floor, 0.99);
    result.productP50[round] = quantile(took.product, 0.5);
    result.productP99[round] = quantile(took.product, 0.99);
  }
  await engine.close();
  await floor.close();
  return result;
}

/** Measures a mirror with that many records: the listing, a delta, and two queries that read little. */
async function growth({ baseUrl, folder, change, turns, warmUp }: Stage): Promise<Result> {
  const engine = await openProduct(baseUrl, folder);
  const listed = await timed(() => tickOf(engine));
  const deltas: number[] = [];
  for (let turn = -warmUp; turn < turns; turn += 1) {
    await change((turn + warmUp) * 7);
    const millis = await timed(() => tickOf(engine));
    if (turn >= 0) deltas.push(millis);
  }
  const reader = new Sqlite(join(folder, productFile), { readonly: true });
  const page = reader.prepare(
    "SELECT applied_at, id, name, status FROM roster WHERE source = 'acme' ORDER BY applied_at DESC NULLS LAST LIMIT 50",
  );
  const totals = reader.prepare('SELECT status, currency, sum(raised_cents) FROM round_totals GROUP BY 1, 2');
  const queried = async (query: { all(): unknown }) =>
    quantile(await Promise.all(times(5).map(() => timed(async () => query.all()))), 0.5);
  const result = {
    seconds: [listed / 1000],
    delta: [quantile(deltas, 0.5)],
    page: [await queried(page)],
    totals: [await queried(totals)],
  };
  reader.close();
  await engine.close();
  return result;
}

const variants = {
  'fetch-only': fetchOnly,
  'naive-bootstrap': (stage: Stage) => floorBootstrap(stage, naive, ''),
  'tuned-bootstrap': (stage: Stage) => floorBootstrap(stage, tuned, suitableIndexes),
  'lean-bootstrap': leanBootstrap,
  'product-bootstrap': productBootstrap,
  'product-relisting': productRelisting,
  'postgres-floor': postgresFloor,
  delta,
  growth,
  soak,
  tick: tickParts,
};
export type Variant = keyof typeof variants;

export async function runVariant(name: Variant, baseUrl: string, amount: Amount): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-'));
  try {
    const result = await variants[name]({ ...amount, baseUrl, folder, change: changeAt(baseUrl) });
    return { ...result, peakMegabytes: [peakMegabytes()] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
