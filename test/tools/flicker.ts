import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';

/*
 * Searches for flaky tests: runs the suite many times, each time with another seed, the files in another random order,
 * and optionally with busy processors.
 *
 *   npm run test:flicker -- --runs 20
 *   npm run test:flicker -- --runs 50 --busy 4 test/cli test/daemon
 */
const usage = `usage: npm run test:flicker -- [--runs N] [--busy N] [--from SEED] [file or folder …]
  --runs N    whole runs, one after the other (20)
  --busy N    processes that keep a processor busy meanwhile (0)
  --from N    seed of the first run; each run adds one (1)
Exits with 1 when any test failed in any run.`;

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

function wholeNumber(name: string, text: string, least: number): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  console.error(`error: --${name} takes a whole number from ${least}, not "${text}".\n${usage}`);
  process.exit(2);
}

const burn = () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });

async function runOnce(seed: number, files: readonly string[], output: string): Promise<Report | null> {
  const vitest = spawn(
    process.execPath,
    [
      ...['node_modules/vitest/vitest.mjs', 'run', ...files, '--sequence.shuffle.files', '--sequence.seed'],
      ...[String(seed), '--reporter=json', `--outputFile.json=${output}`],
    ],
    { stdio: 'ignore', env: { ...process.env, ROSTERD_TEST_SEED: String(seed) } },
  );
  await new Promise((resolve) => vitest.on('close', resolve));
  try {
    return JSON.parse(readFileSync(output, 'utf8')) as Report;
  } catch {
    return null;
  } finally {
    rmSync(output, { force: true });
  }
}

const { values, positionals } = (() => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        runs: { type: 'string', default: '20' },
        busy: { type: 'string', default: '0' },
        from: { type: 'string', default: '1' },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    console.error(`error: ${(error as Error).message}\n${usage}`);
    process.exit(2);
  }
})();
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const runs = wholeNumber('runs', values.runs, 1);
const busy = wholeNumber('busy', values.busy, 0);
const from = wholeNumber('from', values.from, 0);

const folder = mkdtempSync(join(tmpdir(), 'rosterd-flicker-'));
const burners = Array.from({ length: busy }, burn);
process.once('exit', () => {
  for (const burner of burners) burner.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(5));

const seen = new Map<string, { readonly seeds: number[]; readonly message: string }>();
let broken = 0;
for (let seed = from; seed < from + runs; seed += 1) {
  const startedAt = Date.now();
  const report = await runOnce(seed, positionals, join(folder, 'report.json'));
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
  `${runs} runs from seed ${from} on ${availableParallelism()} processors, ${busy} of them kept busy: ${seen.size} tests were flaky or failed`,
);
for (const [name, { seeds, message }] of seen)
  console.log(
    `  ${name}\n    failed in ${seeds.length} of ${runs} runs, seeds ${seeds.join(', ')}: ${message}`,
  );
process.exit(seen.size + broken === 0 ? 0 : 1);
