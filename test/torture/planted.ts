import { parseArgs } from 'node:util';
import { hunt } from '../support/hunt.js';
import { fleet, network, plantedBugs, type TortureBug } from './planted-bugs.js';

/*
 * npm run torture:planted -- [--rounds 60] [--seed 1] [--only TEXT]
 *
 * Plants one bug after the other in a copy of the program and plays the scenario that must find it until its first
 * violation. Exit code 0 only if every bug is found.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
});
const found = await hunt<TortureBug>({
  layout: { copied: ['src', 'test'], translated: { src: 'dist' } },
  bugs: plantedBugs.filter(({ name, scenario, database }) =>
    `${database}: ${scenario}: ${name}`.includes(values.only),
  ),
  jobs: 1,
  command: ({ scenario, database }) => {
    const { rounds, seed } = values;
    if (scenario === fleet)
      return ['--import', 'tsx', 'test/torture/fleet/run.ts', '--changes', '200', '--seed', seed];
    if (scenario === network)
      return [
        ...['--import', 'tsx', 'test/torture/network/run.ts', '--first', '--small', '--replica', 'sync'],
        ...['--epochs', '1', '--perEpoch', '30', '--faults', String(5 * Number(rounds)), '--seed', seed],
      ];
    return [
      ...['--import', 'tsx', 'test/torture/run.ts', '--first', '--database', database],
      ...['--only', scenario, '--rounds', rounds, '--seed', seed],
    ];
  },
  finding: (line) => line.startsWith('Violation: '),
});
const caught = found.filter((line) => line !== null).length;
console.log(`${caught} of ${found.length} planted bugs caught within ${values.rounds} rounds each`);
process.exitCode = caught === found.length ? 0 : 1;
