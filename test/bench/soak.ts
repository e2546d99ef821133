import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { Agent } from 'undici';
import { Lifecycle } from '../../src/runtime/lifecycle.js';
import { committedAfter, idOf } from './feed.js';
import { announced, quietMillis, reading, startFollowing } from './following.js';
import { productFile } from './product.js';
import type { Result, Stage } from './variants.js';

/** Changes per second if the soak has a duration: the machine has other work for an hour. */
const pace = 20;
/** Memory samples, all in the second half, when sizes have settled. */
const looks = 40;

/**
 * Runs the real daemon on changes that webhooks announce, each tenth a withdrawal. Returns the memory that each
 * change of the second half leaves behind, as the slope of a fitted line.
 */
export async function soak(stage: Stage): Promise<Result> {
  const { baseUrl, folder, change, turns, seconds } = stage;
  const parts = new Lifecycle();
  try {
    let passed = 0;
    const daemon = await startFollowing(baseUrl, folder, () => passed);
    parts.add('daemon', daemon.close);
    const agent = new Agent({ connections: 1, pipelining: 0 });
    parts.add('agent', () => agent.destroy());
    const seen = reading(
      parts,
      join(folder, productFile),
      'SELECT committed_cents FROM investments WHERE id = ?',
    );
    const records = countOf(join(folder, productFile));
    const follower = { url: daemon.receiverUrl ?? '', ...seen };
    const points: { at: number; kilobytes: number }[] = [];
    const began = performance.now();
    const share = (turn: number) =>
      seconds === undefined ? turn / turns : (performance.now() - began) / 1000 / seconds;
    let turn = 0;
    for (; share(turn) < 1; turn += 1) {
      passed += quietMillis;
      const no = (turn * 7) % records;
      const gone = turn % 10 === 9;
      const place = await change(no, gone);
      const cents = gone ? undefined : committedAfter(no, place);
      await announced(follower, idOf(no), cents, agent, turn);
      if (share(turn) >= 0.5 + points.length / looks / 2) {
        globalThis.gc?.();
        points.push({ at: turn, kilobytes: process.memoryUsage.rss() / 1024 });
      }
      const ahead = began + ((turn + 1) * 1000) / pace - performance.now();
      if (seconds !== undefined && ahead > 0) await pause(ahead);
    }
    return {
      slope: [slopeOf(points)],
      last: [(points.at(-1)?.kilobytes ?? 0) / 1024],
      changes: [turn],
    };
  } finally {
    await parts.close();
  }
}

function countOf(file: string): number {
  const reader = new Sqlite(file, { readonly: true });
  const count = reader.prepare<[], number>('SELECT count(*) FROM investments').pluck().get();
  reader.close();
  return count ?? 0;
}

/** Least squares. */
function slopeOf(points: readonly { at: number; kilobytes: number }[]): number {
  const mean = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean(({ at }) => at), mean(({ kilobytes }) => kilobytes)];
  const over = mean(({ at, kilobytes }) => (at - x) * (kilobytes - y));
  const under = mean(({ at }) => (at - x) ** 2);
  return under === 0 ? 0 : over / under;
}
