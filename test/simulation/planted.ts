import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { hunt } from '../support/hunt.js';
import { plantedBugs } from './planted-bugs.js';
import { plantedPostgresBugs } from './postgres/planted-bugs.js';
import { serverForRuns } from './postgres/server-for-runs.js';

/*
 * npm run simulate:planted -- [--database postgres] [--seeds 1000] [--from 1] [--only TEXT] [--skip N] [--jobs N]
 *
 * Plants one bug after the other in a copy of the sources and counts how many the simulator finds. Exit code 0
 * only if it finds all of them. Runs --jobs searches at once, by default one per processor. PostgreSQL has its own
 * list of bugs, tried on one server in runs that take real time, so use fewer seeds there. --skip leaves out the
 * first bugs of the list, to continue an interrupted hunt.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    skip: { type: 'string', default: '0' },
    database: { type: 'string', default: 'sqlite' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});
const isServer = values.database === 'postgres';
const server = isServer ? await serverForRuns() : null;
if (server !== null) process.env.ROSTERD_TEST_POSTGRES = server.url;
const folders = ['src', 'test/simulation', 'test/postgres', 'test/support'];
const sources = Object.fromEntries(folders.map((folder) => [folder, folder]));
const script = 'test/simulation/simulate.js';
const found = await hunt({
  layout: { copied: [], translated: sources },
  bugs: (isServer ? plantedPostgresBugs : plantedBugs)
    .slice(Number(values.skip))
    .filter(({ name }) => name.includes(values.only)),
  jobs: Number(values.jobs),
  command: () => [
    ...[script, '--first', '--no-shrink', '--jobs', '1', '--database', values.database],
    ...['--seeds', values.seeds, '--from', values.from],
  ],
  // A missing server says nothing about the bug.
  finding: (line) => line.startsWith('seed ') && !line.includes('the simulator failed'),
});
await server?.close();
const needed = found.flatMap((line) => (line === null ? [] : [Number(line.split(/\s+/)[1])]));
const caught = needed.length;
console.log(
  `${caught} of ${found.length} planted bugs caught within ${values.seeds} seeds each, the last at seed ${Math.max(0, ...needed)}`,
);
process.exitCode = caught === found.length ? 0 : 1;
