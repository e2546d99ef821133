import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';
import { choice, flag, readOptions, text, whole } from '../support/options.js';
import { equivalentMutants } from './equivalent.js';
import { mirrorTargets } from './mirror-targets.js';
import { type Mutant, mutantsOf } from './mutants.js';
import { platformTargets } from './platform-targets.js';
import { postgresTargets } from './postgres-targets.js';
import type { Target } from './target.js';
import { type Outcome, tryMutants } from './trial.js';

const options = readOptions({
  name: 'npm run mutate',
  about: `Changes one place of the sources after another, in a copy, and runs the tests of that file. A mutant that no test
notices has survived. Exit code 0 if at least 95 of 100 mutants were killed or are explained in equivalent.ts, and
no test kills an explained one.`,
  options: {
    of: choice('whose sources', ['mirror', 'postgres', 'platform'], 'mirror'),
    count: whole('mutants to take at random; 0 takes all', 300),
    seed: text('which ones follows from it', '1', 'S'),
    only: text('of files whose path contains it', null, 'TEXT'),
    results: text('appends each outcome, and does not try again what it calls killed', null, 'FILE'),
    list: flag('prints the mutants instead of trying them'),
  },
});
const goodShare = 0.95;
const targets = { mirror: mirrorTargets, postgres: postgresTargets, platform: platformTargets }[options.of];

interface Planned {
  readonly target: Target;
  readonly mutant: Mutant;
}

const all = targets
  .filter(({ file }) => file.includes(options.only ?? ''))
  .flatMap((target): readonly Planned[] =>
    mutantsOf(target.file, readFileSync(join(packageRoot, target.file), 'utf8')).map((mutant) => ({
      target,
      mutant,
    })),
  );

/** A mutant stays in the sample of a seed while its own line stays. */
function chooseFrom(planned: readonly Planned[], count: number, seed: string): readonly Planned[] {
  if (count === 0) return planned;
  const drawn = planned.map((one) => ({
    one,
    key: createHash('sha256').update(`${seed} ${one.mutant.name}`).digest('hex'),
  }));
  drawn.sort((a, b) => (a.key < b.key ? -1 : 1));
  const some = new Set(drawn.slice(0, count).map(({ one }) => one));
  return planned.filter((one) => some.has(one));
}

const isExplained = (name: string): boolean => Object.hasOwn(equivalentMutants, name);

function readResults(file: string | null): Map<string, Outcome> {
  if (file === null || !existsSync(file)) return new Map();
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return new Map(lines.map((line) => JSON.parse(line) as Outcome).map((outcome) => [outcome.name, outcome]));
}

async function runAll(planned: readonly Planned[]): Promise<void> {
  const outcomes = readResults(options.results);
  const isKilled = (name: string) => ['killed', 'timeout'].includes(outcomes.get(name)?.result ?? '');
  const report = (outcome: Outcome) => {
    outcomes.set(outcome.name, outcome);
    if (options.results !== null) appendFileSync(options.results, `${JSON.stringify(outcome)}\n`);
    console.log(
      `${outcome.result.toUpperCase().padEnd(9)} ${outcome.name}${outcome.by === null ? '' : `  (${outcome.by})`}`,
    );
  };
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-mutants-'));
  try {
    for (const target of targets) {
      const left = planned
        .filter(
          (one) => one.target === target && (isExplained(one.mutant.name) || !isKilled(one.mutant.name)),
        )
        .map(({ mutant }) => mutant);
      if (left.length === 0) continue;
      try {
        await tryMutants(folder, target, left, report, { onServer: options.of === 'postgres' });
      } catch (error) {
        // Another target's mutants can still be tried.
        console.log(`FAILED    ${target.file}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  summarize(planned, outcomes);
}

function summarize(planned: readonly Planned[], outcomes: ReadonlyMap<string, Outcome>): void {
  const of = (result: Outcome['result']) =>
    planned.filter(({ mutant }) => outcomes.get(mutant.name)?.result === result).map(({ mutant }) => mutant);
  const killed = [...of('killed'), ...of('timeout')];
  const survivors = of('survived').filter(({ name }) => !isExplained(name));
  const explained = of('survived').length - survivors.length;
  const disproved = killed.filter(({ name }) => isExplained(name));
  for (const { file, line, name } of survivors) console.log(`survivor  ${file}:${line}  ${name}`);
  for (const { name } of disproved)
    console.log(`killed although equivalent.ts says that no test can: ${name}`);
  console.log(
    `${planned.length} of ${all.length} mutants tried (seed ${options.seed}): ${killed.length} killed, ` +
      `${of('timeout').length} of them by a timeout, ${explained} explained, ${survivors.length} survived; ` +
      `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`,
  );
  const good = killed.length + explained >= goodShare * planned.length && disproved.length === 0;
  process.exitCode = good ? 0 : 1;
}

const chosen = chooseFrom(all, options.count, options.seed);
if (options.list) {
  for (const { mutant } of chosen) console.log(mutant.name);
  console.log(`${chosen.length} of ${all.length} mutants in ${targets.length} files`);
} else await runAll(chosen);
