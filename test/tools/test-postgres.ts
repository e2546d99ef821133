import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';
import { TrialFailed } from '../packaging/trial/command.js';
import { packagedPostgres } from '../packaging/trial/registry.js';
import { packageVariable, settingsVariable } from '../postgres/binaries.js';
import { choice, readOptions, text } from '../support/options.js';
import { postgresVersions } from './postgres-versions.js';

/** Tests of what an older version does not have, with the version that has it. */
const needs: Readonly<Record<string, number>> = {
  // GRANT … WITH INHERIT
  'a role of its own takes the vault away from queries of the login': 16,
};

/** What uses a database of PostgreSQL, directly or through a fixture for both databases. */
const usesPostgres = /both-databases|mirrorFixture|migratedDatabase|freshDatabase|postgresUrl|startPostgres/;

/** Returns the test files of `npm test` that use PostgreSQL. */
function testsOfPostgres(): readonly string[] {
  return readdirSync(join(packageRoot, 'test'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name.endsWith('.test.ts') && !entry.name.endsWith('.long.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => usesPostgres.test(readFileSync(path, 'utf8')))
    .map((path) => relative(packageRoot, path))
    .sort();
}

/** The tests that this server can run pass. */
async function pass(
  files: readonly string[],
  major: number,
  env: Readonly<Record<string, string>>,
): Promise<boolean> {
  const without = Object.keys(needs).filter((title) => (needs[title] ?? 0) > major);
  const words = without.length === 0 ? [] : ['--testNamePattern', `^(?!.*(?:${without.join('|')}))`];
  const vitest = join(packageRoot, 'node_modules', 'vitest', 'vitest.mjs');
  const projects = ['--project', 'shared', '--project', 'isolated'];
  const child = spawn(process.execPath, [vitest, 'run', ...projects, ...words, ...files], {
    cwd: packageRoot,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'close');
  return code === 0;
}

const options = readOptions({
  name: 'npm run test:postgres',
  about: `Runs the tests that use PostgreSQL on every supported version of it except the clone's own, which \`npm test\` covers;
or on the clone's own, with a server whose settings differ from the default. Those that change how the server
writes values or plans fail tests that compare its own words.`,
  options: {
    major: choice('this version alone', Object.keys(postgresVersions), null),
    settings: text(
      'of the server, such as "default_transaction_isolation=serializable"',
      null,
      'NAME=VALUE;…',
    ),
  },
  rest: '[file…]',
});
const files = options.rest.length > 0 ? options.rest : testsOfPostgres();
const settings = options.settings === null ? {} : { [settingsVariable]: options.settings };
/** With other settings, the clone's own version is enough. */
const versions = Object.entries(postgresVersions).filter(([major]) =>
  options.major === null ? options.settings === null : options.major === major,
);
if (versions.length === 0 && !(await pass(files, Number.POSITIVE_INFINITY, settings))) process.exitCode = 1;
for (const [major, version] of versions) {
  console.log(`\n== PostgreSQL ${version}`);
  try {
    const env = { ...settings, [packageVariable]: await packagedPostgres(version) };
    if (await pass(files, Number(major), env)) continue;
    console.error(
      `error: tests failed on PostgreSQL ${major}\nTry: npm run test:postgres -- --major ${major} with the files that failed`,
    );
  } catch (error) {
    if (!(error instanceof TrialFailed)) throw error;
    console.error(`error: ${error.message}\nTry: ${error.next}`);
  }
  process.exitCode = 1;
}
