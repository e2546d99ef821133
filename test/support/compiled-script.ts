import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { build } from 'esbuild';
import { packageRoot } from '../../src/runtime/package-root.js';

const compiled = new Map<string, Promise<string>>();

/**
 * Returns the path of a compiled copy of a script that tests start as a child process, made once per process. Its
 * imports from src/ become imports from dist/, which each run of vitest builds. Node starts it several times faster
 * than a TypeScript loader starts the script itself.
 */
export function compiledScript(script: string): Promise<string> {
  const found = compiled.get(script) ?? compile(script);
  compiled.set(script, found);
  return found;
}

async function compile(script: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [script],
    ...{ bundle: true, write: false, packages: 'external', logLevel: 'error' },
    ...{ format: 'esm', platform: 'node', target: 'node22.19' },
    plugins: [
      {
        name: 'src is dist',
        setup: ({ onResolve }) =>
          onResolve({ filter: /^\..*\.js$/ }, ({ path, resolveDir }) => {
            const [first, ...rest] = relative(packageRoot, join(resolveDir, path)).split('/');
            return first === 'src' ? { path: join(packageRoot, 'dist', ...rest), external: true } : null;
          }),
      },
    ],
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`${script} compiles to nothing`);
  // The name follows from the contents, so Node's compile cache also serves later runs.
  const digest = createHash('sha256').update(output.contents).digest('hex').slice(0, 12);
  const folder = join(packageRoot, '.cache', 'scripts');
  const file = join(folder, `${basename(script, '.ts')}-${digest}.mjs`);
  mkdirSync(folder, { recursive: true });
  // Several test processes may write it at once.
  writeFileSync(`${file}.${process.pid}`, output.contents);
  renameSync(`${file}.${process.pid}`, file);
  return file;
}
