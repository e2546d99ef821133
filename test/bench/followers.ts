import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Lifecycle } from '../../src/runtime/lifecycle.js';
import { leanRowSql } from './lean/mirror.js';
import type { Scale } from './measures.js';
import { mirrorRowSql } from './parts/daemon.js';
import type { PartOf } from './parts/index.js';
import { sourceNameOf } from './parts/mirror-config.js';
import { type Change, companyOf } from './parts/platform.js';
import { startPart } from './parts/start-part.js';

/** What follows the platform: the product, or the least program that does the same durable work. */
export type Follower = 'lean floor' | 'rosterd';

export const followers: readonly Follower[] = ['lean floor', 'rosterd'];

export interface Following {
  readonly platform: PartOf<'platform'>;
  readonly reader: PartOf<'reader'>;
  /** Lets the product's clock pass; the floor looks at none. */
  pass(millis: number): Promise<void>;
}

/** How often a reader in a process of its own looks at the file: well below what it measures. */
const everyMillis = 0.05;

/**
 * Runs a platform, one follower that has listed all its sources, and a reader, each as a process of its own over a new
 * folder, and lets `work` make changes.
 */
export async function withFollower<Value>(
  scale: Scale,
  who: Follower,
  records: readonly number[],
  requestsPerHour: number | null,
  work: (following: Following) => Promise<Value>,
): Promise<Value> {
  const { apart } = scale;
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-live-'));
  const lifecycle = new Lifecycle();
  lifecycle.add('folder', () => rmSync(folder, { recursive: true, force: true }));
  try {
    const platform = await startPart(scale, 'platform', { records }, lifecycle);
    const feedUrl = await platform.url();
    const companies = records.map((_, source) => companyOf(source));
    let file = join(folder, 'lean.db');
    let pass = async (_: number) => {};
    if (who === 'lean floor') {
      const floor = await startPart(scale, 'lean floor', { file, feedUrl, companies }, lifecycle);
      await platform.deliverTo(await floor.url());
    } else {
      const options = { folder, feedUrl, companies, requestsPerHour, watched: false, untilIdle: true };
      const daemon = await startPart(scale, 'daemon', options, lifecycle);
      await platform.deliverTo(await daemon.receiverUrl());
      file = await daemon.file();
      pass = (millis) => daemon.pass(millis);
    }
    const sources = records.map((count, source) => ({
      key: who === 'lean floor' ? source : sourceNameOf(source),
      records: count,
    }));
    const rowSql = who === 'lean floor' ? leanRowSql : mirrorRowSql;
    const reader = await startPart(scale, 'reader', { file, rowSql, sources, everyMillis, apart }, lifecycle);
    return await work({ platform, reader, pass });
  } finally {
    await lifecycle.close();
  }
}

/** The longest that a single change may take to become visible. */
export const visibleMillisMax = 600_000;

/** Returns the milliseconds from each change to its visible row, in the order of the changes. */
export async function visibleAfter(
  reader: PartOf<'reader'>,
  changes: readonly Change[],
): Promise<readonly number[]> {
  refuseLost(changes);
  const seen = changes.map(({ source, place }) => reader.seen(source, place, visibleMillisMax));
  const times = await Promise.all(seen);
  return changes.map(({ madeAt }, at) => (times[at] ?? Number.NaN) - madeAt);
}

function refuseLost(changes: readonly Change[]): void {
  for (const { status } of changes) if (status !== 202) throw new Error(`a delivery was answered ${status}`);
}

/**
 * Makes the change at that place of the only source and waits until it is visible. Returns the milliseconds. The reader
 * looks only meanwhile.
 */
export async function changeSeen({ platform, reader }: Following, place: number): Promise<number> {
  await reader.watch(true);
  const [change, seenAt] = await Promise.all([platform.change(0), reader.seen(0, place, visibleMillisMax)]);
  await reader.watch(false);
  refuseLost([change]);
  return seenAt - change.madeAt;
}
