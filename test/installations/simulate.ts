import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { hunt } from '../support/hunt.js';
import { livedWrongly } from './following-life.js';
import { plantedFollowingBugs } from './planted-bugs.js';

/*
 * npm run simulate:following -- [--seeds 1000] [--from 1]: worlds in which companies install and revoke an application
 * while events are lost, the platform fails and the process dies. Prints each seed that ends wrongly.
 *
 * npm run simulate:following -- --planted: plants one bug after the other and searches for it.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    first: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});

if (values.planted) await plantEach();
else await liveEach();

async function liveEach(): Promise<void> {
  const from = Number(values.from);
  let wrong = 0;
  for (let seed = from; seed < from + Number(values.seeds); seed += 1) {
    const found = await livedWrongly(seed).catch((error: unknown) => [String(error)]);
    if (found.length === 0) continue;
    wrong += 1;
    console.log(`seed ${seed}: ${found.join('; ')}`);
    if (values.first) break;
  }
  console.log(`${values.seeds} worlds from seed ${from}, ${wrong} ended wrongly`);
  process.exitCode = wrong === 0 ? 0 : 1;
}

async function plantEach(): Promise<void> {
  const folders = ['src', 'test/installations', 'test/client', 'test/support'];
  const found = await hunt({
    layout: { copied: [], translated: Object.fromEntries(folders.map((folder) => [folder, folder])) },
    bugs: plantedFollowingBugs,
    jobs: Number(values.jobs),
    command: () => [
      'test/installations/simulate.js',
      '--first',
      '--seeds',
      values.seeds,
      '--from',
      values.from,
    ],
    finding: (line) => line.startsWith('seed '),
  });
  const caught = found.filter((line) => line !== null).length;
  console.log(`${caught} of ${found.length} planted bugs caught within ${values.seeds} seeds each`);
  process.exitCode = caught === found.length ? 0 : 1;
}
