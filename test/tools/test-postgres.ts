import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';
import { TrialFailed } from '../packaging/trial/command.js';
import { packagedPostgres } from '../packaging/trial/registry.js';
import { packageVariable } from '../postgres/binaries.js';
import { choice, readOptions } from '../support/options.js';
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

async function testOn(major: number, version: string, files: readonly string[]): Promise<boolean> {
  const without = Object.keys(needs).filter((title) => (needs[title] ?? 0) > major);
  const words = without.length === 0 ? [] : ['--testNamePattern', `^(?!.*(?:${without.join('|')}))`];
  const vitest = join(packageRoot, 'node_modules', 'vitest', 'vitest.mjs');
  const projects = ['--project', 'shared', '--project', 'isolated'];
  const child = spawn(process.execPath, [vitest, 'run', ...projects, ...words, ...files], {
    cwd: packageRoot,
    env: { ...process.env, [packageVariable]: await packagedPostgres(version) },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'close');
  return code === 0;
}

const options = readOptions({
  name: 'npm run test:postgres',
  about: `Runs the tests that use PostgreSQL on every supported version of it except the clone's own, which \`npm test\` covers.`,
  options: {
    major: choice('this version alone', Object.keys(postgresVersions), null),
  },
  rest: '[file…]',
});
const files = options.rest.length > 0 ? options.rest : testsOfPostgres();
for (const [major, version] of Object.entries(postgresVersions)) {
  if (options.major !== null && options.major !== major) continue;
  console.log(`\n== PostgreSQL ${version}`);
  try {
    if (await testOn(Number(major), version, files)) continue;
    console.error(
      `error: tests failed on PostgreSQL ${major}\nTry: npm run test:postgres -- --major ${major} with the files that failed`,
    );
  } catch (error) {
    if (!(error instanceof TrialFailed)) throw error;
    console.error(`error: ${error.message}\nTry: ${error.next}`);
  }
  process.exitCode = 1;
}
