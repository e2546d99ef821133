import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import { naive, openFloor, tuned } from './floors.js';
import { openProduct, tickOf } from './product.js';

/* One measurement in a process of its own, so that its memory is its own: `variant.ts NAME URL`, prints JSON. */

const [name = '', baseUrl = '', times = '200'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-'));
const feed = `${baseUrl}/investments?company_id=co_bench&per_page=100`;
const now = () => performance.now();

async function fetchOnly(): Promise<Record<string, number>> {
  const agent = new Agent({ connections: 1 });
  const began = now();
  let cursor = '';
  for (let more = true; more; ) {
    const text = await (await fetch(`${feed}${cursor}`, { dispatcher: agent })).text();
    more = text.includes('"has_more":true');
    cursor = `&cursor=${/"next_cursor":"([^"]+)"/.exec(text.slice(-300))?.[1]}`;
  }
  const seconds = (now() - began) / 1000;
  await agent.destroy();
  return { seconds };
}

async function floorBootstrap(options: typeof naive, indexes: boolean): Promise<Record<string, number>> {
  const file = join(folder, 'floor.db');
  const floor = openFloor(file, options);
  const began = now();
  while (await floor.page(feed));
  if (indexes) {
    floor.db.exec(
      'CREATE INDEX a ON rows (status, raised_cents); CREATE INDEX b ON rows (applied_at, raised_cents)',
    );
    floor.db.exec(
      'CREATE INDEX c ON rows (investor_id, raised_cents); CREATE INDEX d ON rows (offering_id, raised_cents)',
    );
  }
  const seconds = (now() - began) / 1000;
  floor.db.pragma('wal_checkpoint(TRUNCATE)');
  await floor.close();
  return { seconds, bytes: statSync(file).size };
}

async function productBootstrap(): Promise<Record<string, number>> {
  const engine = await openProduct(baseUrl, folder);
  const began = now();
  await tickOf(engine);
  const seconds = (now() - began) / 1000;
  await engine.close();
  return { seconds, bytes: statSync(join(folder, 'product.db')).size };
}

async function productRelisting(): Promise<Record<string, number>> {
  const engine = await openProduct(baseUrl, folder);
  await tickOf(engine);
  const began = now();
  await tickOf(engine, true);
  const seconds = (now() - began) / 1000;
  await engine.close();
  return { seconds };
}

const change = async (no: number) =>
  await (await fetch(`${baseUrl}/change?no=${no}`, { method: 'POST' })).text();

async function deltas(tick: () => Promise<unknown>): Promise<Record<string, number>> {
  const took: number[] = [];
  for (let turn = 0; turn < Number(times) + 20; turn += 1) {
    await change(turn * 7);
    const began = now();
    await tick();
    if (turn >= 20) took.push(now() - began);
  }
  took.sort((one, other) => one - other);
  const at = (share: number) =>
    took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

async function floorDelta(): Promise<Record<string, number>> {
  const floor = openFloor(join(folder, 'floor.db'), { ...naive, synchronous: 'FULL' });
  while (await floor.page(feed));
  const result = await deltas(() => floor.page(feed));
  await floor.close();
  return result;
}

async function productDelta(): Promise<Record<string, number>> {
  const engine = await openProduct(baseUrl, folder);
  await tickOf(engine);
  const result = await deltas(() => tickOf(engine));
  await engine.close();
  return result;
}

const variants: Readonly<Record<string, () => Promise<Record<string, number>>>> = {
  'fetch-only': fetchOnly,
  'naive-bootstrap': () => floorBootstrap(naive, false),
  'tuned-bootstrap': () => floorBootstrap(tuned, true),
  'product-bootstrap': productBootstrap,
  'product-relisting': productRelisting,
  'floor-delta': floorDelta,
  'product-delta': productDelta,
};
const result = await variants[name]?.();
rmSync(folder, { recursive: true, force: true });
console.log(JSON.stringify({ ...result, peakRssMegabytes: process.resourceUsage().maxRSS / 1024 }));
