import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/runtime/package-root.js';
import { type PlantedBug, plantedBugs } from './planted-bugs.js';

/*
 * npm run simulate:planted -- [--seeds 1000] [--only TEXT] [--jobs 2]
 *
 * Plants one bug after the other in a copy of the sources and counts how many the simulator sees. Exit code 0 only
 * when it sees all of them.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: '2' },
  },
});

interface Finding {
  readonly bug: PlantedBug;
  readonly caught: string | null;
}

function plant(bug: PlantedBug): string {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-planted-'));
  for (const part of ['src', 'schema', 'test/simulation', 'package.json', 'tsconfig.json'])
    cpSync(join(packageRoot, part), join(folder, part), { recursive: true });
  symlinkSync(join(packageRoot, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, bug.file);
  const text = readFileSync(file, 'utf8');
  if (text.split(bug.search).length !== 2)
    throw new Error(
      `"${bug.name}" no longer fits: its text stands ${text.split(bug.search).length - 1} times in ${bug.file}`,
    );
  writeFileSync(
    file,
    text.replace(bug.search, () => bug.replace),
  );
  return folder;
}

function look(bug: PlantedBug): Promise<Finding> {
  const folder = plant(bug);
  const args = [
    '--import',
    'tsx',
    'test/simulation/simulate.ts',
    '--first',
    '--no-shrink',
    '--seeds',
    values.seeds,
  ];
  const child = spawn(process.execPath, [...args, '--from', values.from], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return new Promise((resolve) => {
    child.on('close', (code) => {
      rmSync(folder, { recursive: true, force: true });
      const line = text.split('\n').find((one) => one.startsWith('seed ')) ?? null;
      if (line === null && code !== 0) console.log(text.slice(0, 2_000));
      resolve({ bug, caught: line });
    });
  });
}

const waiting = plantedBugs.filter(({ name }) => name.includes(values.only));
const planted = waiting.length;
let caught = 0;
const worker = async () => {
  for (let bug = waiting.shift(); bug !== undefined; bug = waiting.shift()) {
    const finding = await look(bug);
    if (finding.caught !== null) caught += 1;
    console.log(
      `${finding.caught === null ? 'MISSED' : 'caught'}  ${bug.name}${finding.caught === null ? '' : `  (${finding.caught.slice(0, 110)})`}`,
    );
  }
};
await Promise.all(Array.from({ length: Number(values.jobs) }, worker));
console.log(`${caught} of ${planted} planted bugs caught within ${values.seeds} seeds each`);
process.exitCode = caught === planted ? 0 : 1;
