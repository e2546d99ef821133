import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of rosterd's package.json, from `src/` (tests) and from `dist/` (a build). */
export const packageRoot = findUp(dirname(fileURLToPath(import.meta.url)));

function findUp(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('package.json not found above rosterd');
  return findUp(parent);
}

export function schemaPath(...parts: readonly string[]): string {
  return join(packageRoot, 'schema', ...parts);
}
