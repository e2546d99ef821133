import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compiled } from '../compiled.js';
import type { Section } from '../measures.js';
import { besideOurs, onFreshDatabase } from './into-postgres.js';

const run = promisify(execFile);
const wanted = '@supabase/stripe-sync-engine@0.48.5';

export const peer: Section = {
  name: 'peer',
  each: false,
  says:
    `A first listing into a separate PostgreSQL, compared with ${wanted}'s own upsert of as many objects, ` +
    'read from the same pages over loopback HTTP, into the same server.',
  measure: async (scale) => {
    if (!scale.network) return [];
    const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-peer-'));
    try {
      if (!(await isInstalled(folder))) return [];
      return await besideOurs(scale, Math.min(100_000, ...scale.records), {
        name: wanted,
        ratio: 'speed ÷ the peer',
        least: 5,
        seconds: (feed, server) => upsertedByPeer(folder, feed.url, server),
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Installs into a temporary folder of the run: nothing in the repository depends on it. */
async function isInstalled(folder: string): Promise<boolean> {
  try {
    await run('npm', ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', wanted]);
    return true;
  } catch {
    process.stderr.write(`peer: ${wanted} is not available from the registry, so it is not measured\n`);
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
