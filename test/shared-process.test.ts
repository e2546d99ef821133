import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../src/runtime/package-root.js';
import { sharedFolders } from '../vitest.config.js';

/**
 * Changes that outlive the file that makes them. nock patches the sockets of a process as soon as it is imported.
 */
const patches =
  /from 'nock'|\bvi\.(mock|doMock|stubGlobal|stubEnv|useFakeTimers)\(|\bprocess\.env\.\w+ = |\bprocess\.chdir\(/;

test('tests: files that share a process patch nothing that outlives them', () => {
  const root = join(packageRoot, 'test');
  const found = sharedFolders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
        join(folder, path),
      ),
    )
    .filter((path) => path.endsWith('.ts') && patches.test(readFileSync(join(root, path), 'utf8')));
  expect(found).toEqual([]);
});
