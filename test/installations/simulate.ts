import { availableParallelism } from 'node:os';
import { hunt } from '../support/hunt.js';
import { flag, readOptions, whole } from '../support/options.js';
import { livedWrongly } from './following-life.js';
import { plantedFollowingBugs } from './planted-bugs.js';

const { seeds, from, first, planted, jobs } = readOptions({
  name: 'npm run simulate:following',
  about: `Worlds in which companies install and revoke an application while events are lost, the platform fails and the
process dies. Prints each seed that ends wrongly.`,
  options: {
    seeds: whole('how many worlds', 1000, { least: 1 }),
    from: whole('the first of them', 1),
    first: flag('ends at the first world that ends wrongly'),
    planted: flag('plants one bug after the other and searches for it'),
    jobs: whole('searches for planted bugs at once', availableParallelism(), { least: 1 }),
  },
});

if (planted) await plantEach();
else await liveEach();

async function liveEach(): Promise<void> {
  let wrong = 0;
  for (let seed = from; seed < from + seeds; seed += 1) {
    const found = await livedWrongly(seed).catch((error: unknown) => [String(error)]);
    if (found.length === 0) continue;
    wrong += 1;
    console.log(`seed ${seed}: ${found.join('; ')}`);
    if (first) break;
  }
  console.log(`${seeds} worlds from seed ${from}, ${wrong} ended wrongly`);
  process.exitCode = wrong === 0 ? 0 : 1;
}

async function plantEach(): Promise<void> {
  const folders = ['src', 'test/installations', 'test/client', 'test/support'];
  const found = await hunt({
    layout: { copied: [], translated: Object.fromEntries(folders.map((folder) => [folder, folder])) },
    bugs: plantedFollowingBugs,
    jobs,
    command: () => [
      'test/installations/simulate.js',
      '--first',
      '--seeds',
      String(seeds),
      '--from',
      String(from),
    ],
    finding: (line) => line.startsWith('seed '),
  });
  const caught = found.filter((line) => line !== null).length;
  console.log(`${caught} of ${found.length} planted bugs caught within ${seeds} seeds each`);
  process.exitCode = caught === found.length ? 0 : 1;
}
