import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createVitest, type Vitest } from 'vitest/node';
import { packageRoot } from '../../src/runtime/package-root.js';
import { seededRandom } from '../../src/runtime/random.js';
import { equivalentMutants } from './equivalent.js';
import { type Mutant, mutantsOf, mutated } from './mutants.js';
import { type Target, targets } from './targets.js';

/*
 * npm run mutate:platform -- [--count 100] [--seed 1] [--only TEXT] [--list]
 *
 * Changes one place of the platform's sources after another, in a copy, and runs the tests of that file. A mutant that
 * no test notices has survived. Takes --count mutants at random by --seed, of the files whose path contains --only; with
 * --count 0 all of them. Exit code 0 if at least 95 of 100 mutants were killed.
 */
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
  },
});
const killedShare = 0.95;

interface Planned {
  readonly target: Target;
  readonly mutant: Mutant;
}

const all = targets
  .filter(({ file }) => file.includes(values.only))
  .flatMap((target): readonly Planned[] =>
    mutantsOf(target.file, readFileSync(join(packageRoot, target.file), 'utf8'))
      .filter(({ name }) => !(name in equivalentMutants))
      .map((mutant) => ({ target, mutant })),
  );
function chooseFrom(planned: readonly Planned[], count: number, seed: number): readonly Planned[] {
  if (count === 0) return planned;
  const random = seededRandom(seed);
  const drawn = planned.map((one) => ({ one, key: random.fraction() }));
  drawn.sort((a, b) => a.key - b.key);
  const some = new Set(drawn.slice(0, count).map(({ one }) => one));
  return planned.filter((one) => some.has(one));
}

async function runAll(planned: readonly Planned[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-mutants-'));
  for (const part of ['src', 'test', 'schema', 'package.json', 'tsconfig.json'])
    cpSync(join(packageRoot, part), join(folder, part), { recursive: true });
  symlinkSync(join(packageRoot, 'node_modules'), join(folder, 'node_modules'));
  const survivors: Planned[] = [];
  try {
    for (const target of targets) {
      const own = planned.filter((one) => one.target === target);
      if (own.length === 0) continue;
      const vitest = await startTests(folder, target);
      if (!(await passes(vitest))) throw new Error(`the tests of ${target.file} fail without a mutant`);
      for (const one of own) {
        const killed = !(await survives(vitest, folder, one.mutant));
        if (!killed) survivors.push(one);
        console.log(`${killed ? 'killed  ' : 'SURVIVED'}  ${one.mutant.name}`);
      }
      await vitest.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  for (const { mutant } of survivors) console.log(`survivor  ${mutant.file}:${mutant.line}  ${mutant.name}`);
  const killed = planned.length - survivors.length;
  console.log(`${killed} of ${planned.length} mutants killed`);
  process.exitCode = killed >= killedShare * planned.length ? 0 : 1;
}

/** One instance for all mutants of a file: what they do not change stays transformed. */
const startTests = (folder: string, target: Target): Promise<Vitest> =>
  createVitest('test', {
    root: folder,
    config: false,
    include: [...target.tests],
    pool: 'forks',
    isolate: false,
    fileParallelism: false,
    bail: 1,
    // A mutant may wait for something that never comes.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    reporters: [{}],
    silent: true,
    watch: false,
  });

async function survives(vitest: Vitest, folder: string, mutant: Mutant): Promise<boolean> {
  const path = join(folder, mutant.file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, mutated(text, mutant));
  vitest.invalidateFile(path);
  try {
    return await passes(vitest);
  } finally {
    writeFileSync(path, text);
    vitest.invalidateFile(path);
  }
}

async function passes(vitest: Vitest): Promise<boolean> {
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(
    await vitest.globTestSpecifications(),
    true,
  );
  return unhandledErrors.length === 0 && testModules.length > 0 && testModules.every((one) => one.ok());
}

const chosen = chooseFrom(all, Number(values.count), Number(values.seed));
if (values.list) {
  for (const { mutant } of chosen) console.log(mutant.name);
  console.log(`${chosen.length} of ${all.length} mutants in ${targets.length} files`);
} else await runAll(chosen);
