import { availableParallelism } from 'node:os';
import { hunt } from '../support/hunt.js';
import { choice, readOptions, text, whole } from '../support/options.js';
import { plantedBugs } from './planted-bugs.js';
import { plantedPostgresBugs } from './postgres/planted-bugs.js';
import { serverForRuns } from './postgres/server-for-runs.js';

const { seeds, from, only, skip, database, jobs } = readOptions({
  name: 'npm run simulate:planted',
  about: `Plants one bug after the other in a copy of the sources and counts how many the simulator finds. Exit code 0 only if
it finds all of them. PostgreSQL has its own list of bugs, tried on one server in runs that take real time, so use fewer
seeds there.`,
  options: {
    database: choice('which list', ['sqlite', 'postgres'], 'sqlite'),
    seeds: whole('worlds for each bug', 1000, { least: 1 }),
    from: whole('the first of them', 1),
    only: text('bugs whose name contains it', null, 'TEXT'),
    skip: whole('leaves out the first bugs, to continue an interrupted hunt', 0),
    jobs: whole('searches at once', availableParallelism(), { least: 1 }),
  },
});
const isServer = database === 'postgres';
const server = isServer ? await serverForRuns() : null;
if (server !== null) process.env.ROSTERD_TEST_POSTGRES = server.url;
const folders = ['src', 'test/simulation', 'test/postgres', 'test/support'];
const sources = Object.fromEntries(folders.map((folder) => [folder, folder]));
const script = 'test/simulation/simulate.js';
const found = await hunt({
  layout: { copied: [], translated: sources },
  bugs: (isServer ? plantedPostgresBugs : plantedBugs)
    .slice(skip)
    .filter(({ name }) => name.includes(only ?? '')),
  jobs,
  command: () => [
    ...[script, '--first', '--no-shrink', '--jobs', '1', '--database', database],
    ...['--seeds', String(seeds), '--from', String(from)],
  ],
  // A missing server says nothing about the bug.
  finding: (line) => line.startsWith('seed ') && !line.includes('the simulator failed'),
});
await server?.close();
const needed = found.flatMap((line) => (line === null ? [] : [Number(line.split(/\s+/)[1])]));
const caught = needed.length;
console.log(
  `${caught} of ${found.length} planted bugs caught within ${seeds} seeds each, the last at seed ${Math.max(0, ...needed)}`,
);
process.exitCode = caught === found.length ? 0 : 1;
