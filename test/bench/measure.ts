import { execFile, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/runtime/package-root.js';

/*
 * What the complete product costs beside the least that could be called a mirror, in the same run, round by round in
 * turns, since the machine's mood wanders by a factor of two: only ratios count.
 *
 *   npm run bench                     100,000 records, three rounds
 *   npm run bench -- --records 1000000 --rounds 1
 *   npm run bench -- --write          also appends to test/bench/results.md
 */
const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    write: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const records = Number(values.records);

type Result = Readonly<Record<string, number>>;

async function measured(name: string, latencyMs = 0): Promise<Result> {
  const server = fork(join(packageRoot, 'test/bench/feed-server.ts'), [String(records), String(latencyMs)], {
    execArgv: ['--import', 'tsx'],
  });
  const [port] = (await once(server, 'message')) as [number];
  const stdout = await new Promise<string>((resolve, reject) => {
    const args = [
      '--import',
      'tsx',
      join(packageRoot, 'test/bench/variant.ts'),
      name,
      `http://127.0.0.1:${port}`,
    ];
    execFile(process.execPath, args, (error, out) => (error === null ? resolve(out) : reject(error)));
  });
  server.disconnect();
  await once(server, 'exit');
  return JSON.parse(stdout) as Result;
}

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
const names = [
  'fetch-only',
  'naive-bootstrap',
  'tuned-bootstrap',
  'product-bootstrap',
  'product-relisting',
  'floor-delta',
  'product-delta',
];
const rounds = new Map<string, Result[]>(names.map((name) => [name, []]));
for (let round = 1; round <= Number(values.rounds); round += 1) {
  for (const name of names) {
    process.stderr.write(`round ${round}: ${name}\n`);
    rounds.get(name)?.push(await measured(name));
  }
}

/** Ratios are taken within a round, then the median over the rounds: rounds differ, neighbours less so. */
function ratio(over: string, under: string, key: string): string {
  const pairs = (rounds.get(over) ?? []).map(
    (one, at) => (one[key] ?? Number.NaN) / (rounds.get(under)?.[at]?.[key] ?? Number.NaN),
  );
  const [low, high] = [Math.min(...pairs), Math.max(...pairs)];
  return `${median(pairs).toFixed(2)} (${low.toFixed(2)} – ${high.toFixed(2)})`;
}
const rate = (name: string) =>
  Math.round(records / median((rounds.get(name) ?? []).map((one) => one.seconds ?? Number.NaN)));
const peak = (name: string) =>
  Math.round(Math.max(...(rounds.get(name) ?? []).map((one) => one.peakRssMegabytes ?? 0)));

const lines = [
  `${records.toLocaleString('en-US')} records, ${values.rounds} rounds; ${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}, ${commit()}`,
  '',
  '| Measure | Result | Aim |',
  '| --- | --- | --- |',
  `| bootstrap against the naive floor (speed ÷ speed) | ${ratio('naive-bootstrap', 'product-bootstrap', 'seconds')} | ≥ 1.0 |`,
  `| bootstrap against the tuned floor with indexes | ${ratio('tuned-bootstrap', 'product-bootstrap', 'seconds')} | ≥ 0.75 |`,
  `| re-listing, nothing changed, against the naive floor | ${ratio('naive-bootstrap', 'product-relisting', 'seconds')} | ≥ 1.2 |`,
  `| delta of one record, median ÷ floor | ${ratio('product-delta', 'floor-delta', 'p50')} | ≤ 1.5 |`,
  `| delta of one record, p99 ÷ floor | ${ratio('product-delta', 'floor-delta', 'p99')} | ≤ 2 |`,
  `| file size ÷ the naive floor's (which has no identity and no index) | ${ratio('product-bootstrap', 'naive-bootstrap', 'bytes')} | |`,
  `| peak memory of a bootstrap | ${peak('product-bootstrap')} MB | ≤ 200 MB |`,
  `| records a second: fetch only, naive, tuned, rosterd | ${['fetch-only', 'naive-bootstrap', 'tuned-bootstrap', 'product-bootstrap'].map(rate).join(', ')} | |`,
];
console.log(values.json ? JSON.stringify(Object.fromEntries(rounds)) : lines.join('\n'));
if (values.write) appendFileSync(join(packageRoot, 'test/bench/results.md'), `\n## ${lines.join('\n')}\n`);

function commit(): string {
  try {
    return `commit ${execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()}`;
  } catch {
    return 'no commit';
  }
}
