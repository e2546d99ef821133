import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildContext, context, type OnLoadArgs, type PluginBuild } from 'esbuild';
import {
  type BaseSequencer,
  createVitest,
  type TestModule,
  type TestSpecification,
  type Vitest,
} from 'vitest/node';
import { packageRoot } from '../../src/runtime/package-root.js';
import { type Mutant, mutated } from './mutants.js';
import type { Target } from './target.js';

export interface Outcome {
  readonly name: string;
  /** `timeout`: only tests that waited too long failed, or the process had to be killed. */
  readonly result: 'killed' | 'timeout' | 'survived';
  /** The first test that failed. */
  readonly by: string | null;
}

/** The sources as they are, which every batch tries first. */
const unchanged = -1;
/** Modules of a process are never unloaded. */
const perProcess = 15;
/** A mutant may wait for something that never comes. */
const testTimeout = 20_000;
/** Leaves out tests that need a server: those of `both-databases.ts`, and others that say so. */
const withoutServer = /^(?!.*(?:\(PostgreSQL\)|in PostgreSQL ))/;
/** A mutant may loop for ever, which no timeout inside the process ends. */
const silenceMillis = 180_000;

export interface TrialOptions {
  /** Runs the tests that need a PostgreSQL server, and of those on both databases no others. */
  readonly onServer: boolean;
}

/**
 * Tries mutants of one file: bundles its tests with each of them and runs the bundles one after the other in one process.
 * What a mutant does not change is read and translated once. After the first failure of a mutant its other tests are
 * skipped. Calls `report` with each outcome as it is known. Throws if a test fails without a mutant.
 */
export async function tryMutants(
  folder: string,
  target: Target,
  mutants: readonly Mutant[],
  report: (outcome: Outcome) => void,
  options: TrialOptions = { onServer: false },
): Promise<void> {
  furnish(folder);
  const bundler = await Bundler.open(folder, target, options);
  try {
    let first = true;
    let left = [...mutants];
    while (left.length > 0) {
      const batch = left.slice(0, perProcess);
      const numbered = new Map(batch.map((mutant, index) => [index, mutant]));
      await bundler.write(unchanged, null);
      for (const [index, mutant] of numbered) await bundler.write(index, mutant);
      const outcomes = await runBatch(
        folder,
        target,
        [...(first ? [unchanged] : []), ...numbered.keys()],
        options,
      );
      if (first && outcomes.get(unchanged)?.result !== 'survived')
        throw new Error(
          `the tests of ${target.file} fail without a mutant: ${outcomes.get(unchanged)?.by ?? 'no result'}`,
        );
      const tried = new Set<Mutant>();
      for (const [index, mutant] of numbered) {
        const outcome = outcomes.get(index);
        if (outcome === undefined) continue;
        tried.add(mutant);
        report({ name: mutant.name, ...outcome });
      }
      if (tried.size === 0) throw new Error(`no result for ${batch[0]?.name ?? target.file}`);
      left = left.filter((mutant) => !tried.has(mutant));
      first = false;
    }
  } finally {
    await bundler.close();
  }
}

/** Makes a folder look like the root of the package to what is bundled into it. */
function furnish(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'trials'), { recursive: true });
  cpSync(join(packageRoot, 'package.json'), join(folder, 'package.json'));
  for (const part of ['schema', 'node_modules', 'test'])
    symlinkSync(join(packageRoot, part), join(folder, part));
}

/** Names the built scripts of child processes, which are not beside a bundle. They run without the mutant. */
function withBuiltChildren(path: string, text: string): string {
  const built = join('dist', relative(join(packageRoot, 'src'), path)).replace(/\.ts$/, '.js');
  const url = JSON.stringify(pathToFileURL(join(packageRoot, built)).href);
  return text.replaceAll('startOwnProcess(import.meta.url,', `startOwnProcess(${url},`);
}

/** Bundles the tests of a target with one of its mutants. */
class Bundler {
  #text = '';

  private constructor(
    readonly folder: string,
    readonly target: Target,
    readonly options: TrialOptions,
  ) {}

  #context: BuildContext<{ write: false }> | null = null;

  static async open(folder: string, target: Target, options: TrialOptions): Promise<Bundler> {
    const bundler = new Bundler(folder, target, options);
    const path = join(packageRoot, target.file);
    bundler.#context = await context({
      absWorkingDir: packageRoot,
      entryPoints: [...target.tests],
      outbase: 'test',
      outdir: join(folder, 'bundle'),
      bundle: true,
      splitting: true,
      write: false,
      format: 'esm',
      platform: 'node',
      target: 'node22',
      packages: 'external',
      logLevel: 'silent',
      plugins: [
        {
          name: 'mutant',
          setup(build: PluginBuild): void {
            build.onLoad({ filter: /\.ts$/ }, (file: OnLoadArgs) => {
              const text = file.path === path ? bundler.#text : readFileSync(file.path, 'utf8');
              const contents = withBuiltChildren(file.path, text);
              return file.path === path || contents !== text ? { contents, loader: 'ts' } : undefined;
            });
          },
        },
      ],
    });
    return bundler;
  }

  /** Writes the bundles of a mutant, or of the sources as they are, below `m<index>/`, and a test file for each. */
  async write(index: number, mutant: Mutant | null): Promise<void> {
    const text = readFileSync(join(packageRoot, this.target.file), 'utf8');
    this.#text = mutant === null ? text : mutated(text, mutant);
    const { outputFiles = [] } = (await this.#context?.rebuild()) ?? {};
    for (const { path, contents } of outputFiles) {
      const to = join(this.folder, `m${index}`, relative(join(this.folder, 'bundle'), path));
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, contents);
    }
    for (const [number, test] of this.target.tests.entries())
      writeFileSync(trialPath(this.folder, index, number), trialText(index, test, this.options));
  }

  async close(): Promise<void> {
    await this.#context?.dispose();
  }
}

const trialPath = (folder: string, index: number, number: number): string =>
  join(folder, 'trials', `${index}_${number}.test.mjs`);
const pidPath = (folder: string): string => join(folder, 'pid');

/** Imports a bundle. After the first failure of a mutant, its other tests are skipped. */
const trialText = (index: number, test: string, { onServer }: TrialOptions): string => `
import { writeFileSync } from 'node:fs';
import { beforeEach, test } from 'vitest';
writeFileSync(new URL('../pid', import.meta.url), String(process.pid));
const killed = (globalThis.killedMutants ??= new Set());
if (killed.has(${index})) test.skip('killed by an earlier file', () => {});
else {
  beforeEach((context) => {
    if (killed.has(${index}) || (${onServer && isOnBoth(test)} && !context.task.name.endsWith(' (PostgreSQL)')))
      context.skip();
    context.onTestFailed(() => killed.add(${index}));
  });
  await import('../m${index}/${test.replace(/^test\//, '').replace(/\.ts$/, '.js')}');
}
`;

const isOnBoth = (test: string): boolean =>
  readFileSync(join(packageRoot, test), 'utf8').includes('/both-databases.js');

type Result = Omit<Outcome, 'name'>;

class InOrder implements Pick<BaseSequencer, 'sort' | 'shard'> {
  sort = async (files: TestSpecification[]) => files;
  shard = async (files: TestSpecification[]) => files;
}

/** Runs the test files of some mutants in one process. A mutant whose files did not all end has no result. */
async function runBatch(
  folder: string,
  target: Target,
  indexes: readonly number[],
  options: TrialOptions,
): Promise<ReadonlyMap<number, Result>> {
  const results = new Map<number, Result>();
  const seen = new Map<number, readonly Result[]>();
  let watch: NodeJS.Timeout | undefined;
  const expectSigns = () => {
    clearTimeout(watch);
    watch = setTimeout(() => killWorker(folder), silenceMillis);
  };
  const vitest = await startTests(folder, options, {
    started: expectSigns,
    ended: (module) => {
      expectSigns();
      const index = indexOf(module);
      const all = [...(seen.get(index) ?? []), resultOf(module)];
      seen.set(index, all);
      if (all.length === target.tests.length) results.set(index, worst(all));
    },
  });
  try {
    const project = vitest.getRootProject();
    const files = indexes.flatMap((index) =>
      target.tests.map((_, number) => project.createSpecification(trialPath(folder, index, number))),
    );
    await vitest.runTestSpecifications(files, false);
  } finally {
    clearTimeout(watch);
    await vitest.close();
  }
  // The process was killed: the first mutant without a result is the one that kept it busy.
  const stuck = indexes.find((index) => !results.has(index));
  if (stuck !== undefined && stuck !== unchanged)
    results.set(stuck, { result: 'timeout', by: 'the process hung' });
  return results;
}

interface Listener {
  started(): void;
  ended(module: TestModule): void;
}

const startTests = (folder: string, { onServer }: TrialOptions, listener: Listener): Promise<Vitest> =>
  createVitest('test', {
    root: folder,
    config: false,
    include: ['trials/*.test.mjs'],
    pool: 'forks',
    isolate: false,
    fileParallelism: false,
    sequence: { sequencer: InOrder },
    server: { deps: { external: [/\/m-?\d+\//] } },
    ...(onServer
      ? { globalSetup: [join(packageRoot, 'test/postgres/global-setup.ts')] }
      : { testNamePattern: withoutServer }),
    testTimeout,
    hookTimeout: testTimeout,
    // Vitest's second is too short on a busy machine.
    expect: { poll: { timeout: testTimeout / 2 } },
    reporters: [
      {
        onTestModuleStart: () => listener.started(),
        onTestModuleEnd: (module) => listener.ended(module),
      },
    ],
    silent: true,
    watch: false,
  });

const indexOf = (module: TestModule): number =>
  Number(/(-?\d+)_\d+\.test\.mjs$/.exec(module.moduleId)?.[1] ?? Number.NaN);

function resultOf(module: TestModule): Result {
  if (module.ok()) return { result: 'survived', by: null };
  const [failed] = [...module.children.allTests('failed')];
  if (failed === undefined) return { result: 'killed', by: module.errors()[0]?.message ?? 'a hook' };
  const messages = failed.result().errors?.map(({ message }) => message) ?? [];
  const late = messages.length > 0 && messages.every((message) => /timed out in \d+ms/.test(message));
  return { result: late ? 'timeout' : 'killed', by: failed.fullName };
}

const worst = (results: readonly Result[]): Result =>
  results.find(({ result }) => result === 'killed') ??
  results.find(({ result }) => result === 'timeout') ?? { result: 'survived', by: null };

function killWorker(folder: string): void {
  try {
    process.kill(Number(readFileSync(pidPath(folder), 'utf8')), 'SIGKILL');
  } catch {
    // It has ended.
  }
}
