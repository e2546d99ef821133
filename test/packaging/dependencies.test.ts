import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { testedNodeLines } from '../../src/runtime/supported-node.js';

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly gypfile?: boolean;
}

const json = (path: string) => JSON.parse(readFileSync(join(packageRoot, path), 'utf8'));
const locked = Object.entries(json('package-lock.json').packages as Record<string, Locked>).filter(([path]) =>
  path.startsWith('node_modules/'),
);
const production = locked.filter(([, { dev }]) => dev !== true);

test('no package that a user installs runs an install script or contains a Node', () => {
  expect(production.length).toBeGreaterThan(50);
  expect(production.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([]);
  const nodes = production.filter(([path]) => /\/node-(?:bin-)?(?:linux|darwin|win)-/.test(path));
  expect(nodes.map(([path]) => path)).toEqual([]);
});

test('package-lock.json locks every package by its content', () => {
  const loose = locked.filter(([, { integrity, link }]) => integrity === undefined && link !== true);
  expect(loose.map(([path]) => path)).toEqual([]);
});

test("the clone's Node is of one tested line, for every platform it is built for", () => {
  const { optionalDependencies } = json('.ci/node/package.json') as {
    optionalDependencies: Record<string, string>;
  };
  const lines = new Set(Object.values(optionalDependencies).map((version) => Number.parseInt(version, 10)));
  expect(lines.size).toBe(1);
  for (const line of lines) expect(testedNodeLines).toContain(line);
  for (const [name, version] of Object.entries(optionalDependencies))
    expect(locked).toContainEqual([`node_modules/${name}`, expect.objectContaining({ version })]);
});

test('no installed package needs an install script in a clone either', () => {
  const scripts = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
  const { allowScripts } = json('package.json') as { allowScripts: Record<string, boolean> };
  for (const path of scripts)
    expect(allowScripts).toHaveProperty([path.replace(/^.*node_modules\//, '')], false);
});

// npm reads this flag from the lock file, not from the package, and compiles where it is missing. `npm install` drops
// it when it rewrites the entry: restore it by hand.
test('package-lock.json: `npm ci` compiles no package that ships prebuilt binaries', () => {
  const compiled = locked.filter(
    ([path, { gypfile }]) => existsSync(join(packageRoot, path, 'binding.gyp')) && gypfile !== false,
  );
  expect(compiled.map(([path]) => path)).toEqual([]);
});
