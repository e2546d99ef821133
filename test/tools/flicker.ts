import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compiledScript } from '../support/compiled-script.js';
import { readOptions, whole } from '../support/options.js';
import { settingName, settingText } from './slow-io/setting.js';

interface Report {
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Returns each failure of one run as "file: test", with the first line of its message. */
function failuresOf(report: Report): ReadonlyMap<string, string> {
  const failures = new Map<string, string>();
  for (const { name, status, message, assertionResults } of report.testResults) {
    const file = relative(process.cwd(), name);
    const failed = assertionResults.filter((one) => one.status === 'failed');
    for (const { fullName, failureMessages } of failed)
      failures.set(`${file}: ${fullName}`, failureMessages[0]?.split('\n')[0] ?? '');
    if (status === 'failed' && failed.length === 0) failures.set(file, message.split('\n')[0] ?? '');
  }
  return failures;
}

const burn = () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });

/** Returns the environment in which waits of the tests, and of the processes that they start, are sometimes late. */
async function slowEnvironment(seed: number, longest: number): Promise<NodeJS.ProcessEnv> {
  if (longest === 0) return {};
  const preload = await compiledScript(fileURLToPath(new URL('./slow-io/preload.ts', import.meta.url)));
  return {
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${pathToFileURL(preload)}`.trim(),
    [settingName]: settingText({ seed, longest }),
  };
}

let running: ChildProcess | null = null;

async function runOnce(seed: number, files: readonly string[], output: string): Promise<Report | null> {
  const vitest = spawn(
    process.execPath,
    [
      ...['node_modules/vitest/vitest.mjs', 'run', ...files, '--sequence.shuffle.files', '--sequence.seed'],
      ...[String(seed), '--reporter=json', `--outputFile.json=${output}`],
    ],
    {
      stdio: 'ignore',
      env: { ...process.env, ROSTERD_TEST_SEED: String(seed), ...(await slowEnvironment(seed, slow)) },
    },
  );
  running = vitest;
  await new Promise((resolve) => vitest.on('close', resolve));
  running = null;
  try {
    return JSON.parse(readFileSync(output, 'utf8')) as Report;
  } catch {
    return null;
  } finally {
    rmSync(output, { force: true });
  }
}

const {
  runs,
  busy,
  slow,
  from,
  rest: chosen,
} = readOptions({
  name: 'npm run test:flicker',
  about: `Searches for flaky tests: runs the suite many times, each time with another seed, the files in another random order,
and optionally with busy processors or slow input and output. Delays follow from the seed of the run: to repeat a failure, pass its
seed, its file and the same --slow, with --runs 1. Exits with 1 when any test failed in any run.`,
  options: {
    runs: whole('whole runs, one after the other', 20, { least: 1 }),
    busy: whole('processes that keep a processor busy meanwhile', 0),
    slow: whole(
      'longest delay of what a test waits for: files, sockets, child processes; most are not delayed',
      0,
      { placeholder: 'MILLISECONDS' },
    ),
    from: whole('seed of the first run; each run adds one', 1),
  },
  rest: '[file or folder …]',
});

const folder = mkdtempSync(join(tmpdir(), 'rosterd-flicker-'));
const burners = Array.from({ length: busy }, burn);
process.once('exit', () => {
  running?.kill('SIGTERM');
  for (const burner of burners) burner.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(5));

const seen = new Map<string, { readonly seeds: number[]; readonly message: string }>();
let broken = 0;
for (let seed = from; seed < from + runs; seed += 1) {
  const startedAt = Date.now();
  const report = await runOnce(seed, chosen, join(folder, 'report.json'));
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  if (report === null || report.numTotalTests === 0) {
    broken += 1;
    console.log(`seed ${seed}: no test ran (${seconds} s)`);
    continue;
  }
  const failures = failuresOf(report);
  for (const [name, message] of failures) {
    const entry = seen.get(name) ?? { seeds: [], message };
    entry.seeds.push(seed);
    seen.set(name, entry);
  }
  console.log(`seed ${seed}: ${report.numTotalTests} tests, ${failures.size} failed, ${seconds} s`);
}

console.log(
  `${runs} runs from seed ${from} on ${availableParallelism()} processors, ${busy} of them kept busy, delays up to ${slow} ms: ${seen.size} tests were flaky or failed`,
);
for (const [name, { seeds, message }] of seen)
  console.log(
    `  ${name}\n    failed in ${seeds.length} of ${runs} runs, seeds ${seeds.join(', ')}: ${message}`,
  );
process.exit(seen.size + broken === 0 ? 0 : 1);
