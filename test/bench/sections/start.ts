import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandLine } from '../compiled.js';
import { measure, ratio, type Section, times } from '../measures.js';
import { withFeed } from '../processes.js';
import { openProduct, productFile, tickOf } from '../product.js';

export const start: Section = {
  name: 'start',
  each: false,
  says:
    'The time to the first output of a command, compiled as installed, over a mirror of as many records as ' +
    'the smallest run stores; compared with an empty Node program, which is the minimum.',
  measure: async (scale) => {
    const { records: sizes, rounds, starts, apart } = scale;
    const records = Math.min(100_000, ...sizes);
    const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-start-'));
    const program = commandLine(apart);
    try {
      return await withFeed(scale, records, async (feed) => {
        const engine = await openProduct(feed.url, folder);
        await tickOf(engine);
        await engine.close();
        const config = join(folder, 'config.json');
        writeFileSync(config, JSON.stringify(configuration(feed.url)), { mode: 0o600 });
        const database = `sqlite:${join(folder, productFile)}`;
        const cases: readonly (readonly [string, readonly string[], string?])[] = [
          ['node, empty', ['-e', '0']],
          ['rosterd --help', [program, '--help']],
          [
            `rosterd status, ${records.toLocaleString('en-US')} records`,
            [program, 'status', '--config', config, '--database', database],
          ],
          ['rosterd run, first line of its log', [program, 'run', '--config', config], '"starting"'],
          ['rosterd run, until it follows', [program, 'run', '--config', config], '"following"'],
        ];
        const took = cases.map((): number[] => []);
        for (const _ of times(rounds * starts))
          for (const [at, [, args, word]] of cases.entries())
            took[at]?.push(
              await (word === undefined ? untilEnd(args, folder) : untilSaid(word, args, folder)),
            );
        const [empty = []] = took;
        return cases.flatMap(([name], at) => {
          const millis = took[at] ?? [];
          return [
            measure(name, 'ms', millis),
            ...(at === 0 ? [] : [ratio(`${name}, ÷ empty`, millis, empty)]),
          ];
        });
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

const configuration = (baseUrl: string) => ({
  platform: { baseUrl, requestsPerHour: null },
  database: `sqlite:${productFile}`,
  sources: [{ name: 'acme', token: { env: 'BENCH_TOKEN' }, company: 'co_bench' }],
  console: null,
});

/** The environment of the caller must not affect the measurement. */
const env = {
  PATH: process.env.PATH,
  BENCH_TOKEN: 'at_test_benchbenchbenchbenchbenchbenchbenchbench',
};

async function untilEnd(args: readonly string[], cwd: string): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    said += part;
  });
  const [code] = (await once(child, 'close')) as [number];
  const took = performance.now() - began;
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${said}`);
  return took;
}

async function untilSaid(word: string, args: readonly string[], cwd: string): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'close').then(() => null);
  let said = '';
  const heard = new Promise<number>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      said += part;
      if (said.includes(word)) resolve(performance.now() - began);
    });
  });
  const took = await Promise.race([heard, ended]);
  child.kill('SIGTERM');
  await ended;
  // A program that fails also prints something first.
  if (took === null) throw new Error(`${args.join(' ')} said ${JSON.stringify(said)}`);
  return took;
}
