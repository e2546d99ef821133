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

/** Returns Node's arguments to start the command line: compiled, or the sources through tsx. */
export function commandLine(built: boolean): readonly string[] {
  const script = 'src/cli/main.ts';
  return built ? [compiled(script)] : ['--import', import.meta.resolve('tsx'), join(packageRoot, script)];
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
