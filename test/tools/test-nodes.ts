import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';
import { testedNodeLines } from '../../src/runtime/supported-node.js';
import { TrialFailed } from '../packaging/trial/command.js';
import { nodeLine } from '../packaging/trial/registry.js';
import { choice, flag, readOptions, text } from '../support/options.js';

/** Databases, sockets, processes, streams. */
const bounded = [
  ...[
    'test/cli/entry.test.ts',
    'test/cli/process.test.ts',
    'test/client/fetch',
    'test/inbox/receiver.test.ts',
  ],
  // Not what tries SQL alone: better-sqlite3 brings the same SQLite to every line.
  ...['durability', 'migrate', 'open', 'reader-apart'].map(
    (name) => `test/store/dialect/sqlite/${name}.test.ts`,
  ),
  'test/store/dialect/postgres/open.test.ts',
  // Those of the lake try DuckDB's files at great length; one that uses its native code is enough here.
  ...['csv', 'founder-csv', 'lake/lock', 'parquet', 'unfinished', 'write-file', 'xlsx'].map(
    (name) => `test/exports/${name}.test.ts`,
  ),
  ...['test/outbox/send.test.ts', 'test/runtime', 'test/packaging/dependencies.test.ts'],
];

/** As vitest's `process.argv` has it: its workers and the processes that tests start use the same Node. */
async function testOn(line: number, words: readonly string[]): Promise<boolean> {
  const bin = await nodeLine(line);
  const vitest = join(packageRoot, 'node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(join(bin, 'node'), [vitest, 'run', ...words], {
    cwd: packageRoot,
    env: { ...process.env, PATH: `${bin}:${process.env.PATH ?? ''}` },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'close');
  return code === 0;
}

const options = readOptions({
  name: 'npm run test:nodes',
  about: `Runs the tests on every supported line of Node except the clone's own, which \`npm test\` covers.`,
  options: {
    bounded: flag('only the files for which a line of Node is likely to matter'),
    line: choice('this line alone', testedNodeLines.map(String), null),
    shard: text('only this part of the files, such as 1/2', null, 'PART'),
  },
  rest: '[file…]',
});
const words = [
  ...(options.bounded ? bounded : []),
  ...options.rest,
  ...(options.shard === null ? [] : [`--shard=${options.shard}`]),
];
const own = Number.parseInt(process.versions.node, 10);
const lines = testedNodeLines.filter((line) =>
  options.line === null ? line !== own : String(line) === options.line,
);
for (const line of lines) {
  console.log(`\n== Node ${line}`);
  try {
    if (await testOn(line, words)) continue;
    console.error(
      `error: tests failed on Node ${line}\nTry: npm run test:nodes -- --line ${line} with the files that failed`,
    );
  } catch (error) {
    if (!(error instanceof TrialFailed)) throw error;
    console.error(`error: ${error.message}\nTry: ${error.next}`);
  }
  process.exitCode = 1;
}
