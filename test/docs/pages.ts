import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';

/** Every page for readers, the README first. */
export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(packageRoot, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
  'SECURITY.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
];
