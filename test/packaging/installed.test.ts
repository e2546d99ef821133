import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { tempFolder } from '../store/temp-folder.js';

const { optionalDependencies } = JSON.parse(
  readFileSync(join(packageRoot, '.ci', 'node', 'package.json'), 'utf8'),
) as { readonly optionalDependencies: Readonly<Record<string, string>> };

const systems = Object.keys(optionalDependencies).flatMap((name) => {
  const [, platform = '', arch = ''] = /^node-(?:bin-)?(\w+)-(\w+)$/.exec(name) ?? [];
  return platform === 'win' ? [] : [{ name, platform, arch }];
});

test.each(systems)(
  'npm 10: the Node of the clone is linked on $platform $arch',
  ({ name, platform, arch }) => {
    const clone = tempFolder();
    cpSync(join(packageRoot, '.ci'), join(clone, '.ci'), { recursive: true });
    mkdirSync(join(clone, 'node_modules', '.bin'), { recursive: true });
    mkdirSync(join(clone, 'node_modules', name, 'bin'), { recursive: true });
    writeFileSync(join(clone, 'node_modules', name, 'bin', 'node'), '');
    const there = Object.entries({ platform, arch }).map(
      ([key, value]) => `Object.defineProperty(process, '${key}', { value: '${value}' });`,
    );
    const preload = `data:text/javascript,${encodeURIComponent(there.join(''))}`;
    execFileSync(process.execPath, ['--import', preload, join('.ci', 'installed.mjs')], { cwd: clone });
    expect(readlinkSync(join(clone, 'node_modules', '.bin', 'node'))).toBe(join('..', name, 'bin', 'node'));
  },
);
