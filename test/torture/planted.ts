import { hunt } from '../support/hunt.js';
import { readOptions, text, whole } from '../support/options.js';
import { fleet, network, plantedBugs, type TortureBug } from './planted-bugs.js';

const { rounds, seed, only } = readOptions({
  name: 'npm run torture:planted',
  about: `Plants one bug after the other in a copy of the program and plays the scenario that must find it until its first
violation. Exit code 0 only if every bug is found.`,
  options: {
    rounds: whole('rounds for each bug', 60, { least: 1 }),
    seed: whole('the course follows from it', 1),
    only: text('bugs of "database: scenario: name" that contain it', null, 'TEXT'),
  },
});
const found = await hunt<TortureBug>({
  layout: { copied: ['src', 'test'], translated: { src: 'dist' } },
  bugs: plantedBugs.filter(({ name, scenario, database }) =>
    `${database}: ${scenario}: ${name}`.includes(only ?? ''),
  ),
  jobs: 1,
  command: ({ scenario, database }) => {
    if (scenario === fleet)
      return ['--import', 'tsx', 'test/torture/fleet/run.ts', '--changes', '200', '--seed', String(seed)];
    if (scenario === network)
      return [
        ...['--import', 'tsx', 'test/torture/network/run.ts', '--first', '--small', '--replica', 'sync'],
        ...['--epochs', '1', '--perEpoch', '30', '--faults', String(5 * rounds), '--seed', String(seed)],
      ];
    return [
      ...['--import', 'tsx', 'test/torture/run.ts', '--first', '--database', database],
      ...['--only', scenario, '--rounds', String(rounds), '--seed', String(seed)],
    ];
  },
  finding: (line) => line.startsWith('Violation: '),
});
const caught = found.filter((line) => line !== null).length;
console.log(`${caught} of ${found.length} planted bugs caught within ${rounds} rounds each`);
process.exitCode = caught === found.length ? 0 : 1;
