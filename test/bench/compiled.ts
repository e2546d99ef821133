import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';

let folder: string | undefined;

/**
 * Compiles a script of the repository once for this run, as the package is compiled. A TypeScript loader would add
 * its own memory to every peak, and names to every function it creates.
 */
export function compiled(script: string): string {
  folder ??= compile();
  return join(folder, script.replace(/\.ts$/, '.js'));
}

/** Returns the path of the command line: compiled for this run, or as a run of the tests has built it. */
export function commandLine(apart: boolean): string {
  return apart ? compiled('src/cli/main.ts') : join(packageRoot, 'dist/cli/main.js');
}

function compile(): string {
  mkdirSync(join(packageRoot, '.cache'), { recursive: true });
  const made = mkdtempSync(join(packageRoot, '.cache', 'bench-dist-'));
  process.once('exit', () => rmSync(made, { recursive: true, force: true }));
  const compiler = join(packageRoot, 'node_modules/typescript/bin/tsc');
  const project = join(packageRoot, 'test/bench/tsconfig.build.json');
  execFileSync(process.execPath, [compiler, '-p', project, '--outDir', made], { stdio: 'inherit' });
  return made;
}
