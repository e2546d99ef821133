import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { hunt } from '../support/hunt.js';
import { plantedBugs } from './planted-bugs.js';

/*
 * npm run simulate:planted -- [--seeds 1000] [--from 1] [--only TEXT] [--jobs N]
 *
 * Plants one bug after the other in a copy of the sources and counts how many the simulator sees. Exit code 0 only
 * when it sees all of them. As many are looked for at once as there are processors, or jobs.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});
const folders = ['src', 'test/simulation', 'test/postgres', 'test/support'];
const sources = Object.fromEntries(folders.map((folder) => [folder, folder]));
const script = 'test/simulation/simulate.js';
const found = await hunt({
  layout: { copied: [], translated: sources },
  bugs: plantedBugs.filter(({ name }) => name.includes(values.only)),
  jobs: Number(values.jobs),
  command: () => [
    ...[script, '--first', '--no-shrink', '--jobs', '1'],
    ...['--seeds', values.seeds, '--from', values.from],
  ],
  finding: (line) => line.startsWith('seed '),
});
const needed = found.flatMap((line) => (line === null ? [] : [Number(line.split(/\s+/)[1])]));
const caught = needed.length;
console.log(
  `${caught} of ${found.length} planted bugs caught within ${values.seeds} seeds each, the last at seed ${Math.max(0, ...needed)}`,
);
process.exitCode = caught === found.length ? 0 : 1;
