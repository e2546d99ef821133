import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startPostgres } from '../../postgres/server.js';
import { compiled } from '../compiled.js';
import { measure, ratio, type Section } from '../measures.js';
import { withFeed } from '../processes.js';
import { listedBy, onFreshDatabase } from './postgres.js';

const run = promisify(execFile);
const wanted = '@supabase/stripe-sync-engine@0.48.5';

export const peer: Section = {
  name: 'peer',
  each: false,
  says:
    `A first listing into a PostgreSQL of its own, beside what ${wanted} takes for its own upsert of as many objects, ` +
    'read from the same pages over loopback HTTP, into the same server.',
  measure: async (scale) => {
    if (!scale.network) return [];
    const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-peer-'));
    const server = scale.postgres === null ? await startPostgres() : null;
    const url = scale.postgres ?? server?.url ?? '';
    try {
      if (!(await isInstalled(folder))) return [];
      const records = Math.min(20_000, ...scale.records);
      return await withFeed(scale, records, async (feed) => {
        const theirs: number[] = [];
        const ours: number[] = [];
        for (let round = 0; round < scale.rounds; round += 1) {
          theirs.push(await upsertedByPeer(folder, feed.url, url));
          ours.push(await listedBy('product-bootstrap', scale, feed, url));
        }
        const rate = (name: string, seconds: readonly number[]) =>
          measure(
            name,
            'rec/s',
            seconds.map((one) => records / one),
          );
        return [
          ratio('speed ÷ the peer', theirs, ours, { least: 5 }),
          rate(wanted, theirs),
          rate('rosterd', ours),
        ];
      });
    } finally {
      await server?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Into a folder of its own that goes with the run: nothing of the repository depends on it. */
async function isInstalled(folder: string): Promise<boolean> {
  try {
    await run('npm', ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', wanted]);
    return true;
  } catch {
    process.stderr.write(
      `peer: ${wanted} cannot be had from the registry, so nothing is measured beside it\n`,
    );
    return false;
  }
}

function upsertedByPeer(folder: string, feed: string, server: string): Promise<number> {
  return onFreshDatabase(server, async (database) => {
    const env = { ...process.env, BENCH_DATABASE: database };
    const { stdout } = await run(process.execPath, [compiled('test/bench/peer.ts'), folder, feed], { env });
    const { seconds } = JSON.parse(stdout) as { readonly seconds: number };
    return seconds;
  });
}
