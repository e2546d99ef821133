import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../src/runtime/package-root.js';
import { testRandom } from './support/chance.js';

/** Files that may use other randomness, with the reason. */
const allowed: Readonly<Record<string, string>> = {
  'support/property.ts': 'gives fast-check its seed',
  'bench/': 'measures the product as it runs',
  'simulation/forbidden-globals.ts': 'names what it forbids',
  'torture/': 'starts real processes; what a round does follows from its own seed',
  'client/tokens/dying-refresher.ts': 'is a process of its own',
  'vault/counting-process.ts': 'is a process of its own',
  'vault/vault-refresher.ts': 'is a process of its own',
  'postgres/': 'names databases of runs that may share a server',
  'architecture.test.ts': 'names what it forbids',
  'seeded.test.ts': 'names what it forbids',
  'docs/try-page.ts': 'runs the commands of the pages as a user would',
};

const chance = /from 'fast-check'|\bMath\.random\(|\bsystemRandom\b|\brandomUUID\(|\brandomBytes\(/;

test('tests: every random value follows from the seed of the run', () => {
  const root = join(packageRoot, 'test');
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !Object.keys(allowed).some((prefix) => path.startsWith(prefix)))
    .filter((path) => chance.test(readFileSync(join(root, path), 'utf8')));
  expect(found).toEqual([]);
});

test('tests: each seeded stream differs from the next', () => {
  expect(testRandom().bytes(8)).not.toEqual(testRandom().bytes(8));
});
