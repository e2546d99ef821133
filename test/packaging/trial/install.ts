import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { type Ended, run } from './command.js';

export interface Trial {
  readonly tarball: string;
  /** Folders of programs, the Node under test first. */
  readonly path: readonly string[];
  readonly npm: readonly string[];
  readonly npx: readonly string[];
  readonly ignoreScripts: boolean;
  /** Whether to compile the TypeScript program as well, which depends on neither Node nor npm. */
  readonly types: boolean;
}

const manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));

/** Strict settings that also check the declarations of every package. */
const strict = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    module: 'nodenext',
    target: 'es2023',
    types: ['node'],
  },
  files: ['example.ts'],
};

/** Does what a new user does in an empty folder. Returns the errors, in order. */
export async function tryPackage(trial: Trial): Promise<readonly string[]> {
  const cwd = mkdtempSync(join(tmpdir(), 'rosterd-package-'));
  const place = { cwd, path: trial.path };
  const wrong: string[] = [];
  const expect = (what: string, { code, said }: Ended, holds: boolean) => {
    if (!holds) wrong.push(`${what} ended with ${code}:\n${said.trim().replaceAll(/^/gm, '    ')}`);
  };
  try {
    writeFileSync(join(cwd, 'package.json'), '{ "private": true, "type": "module" }\n');
    const scripts = trial.ignoreScripts ? ['--ignore-scripts'] : [];
    const compilers = trial.types
      ? ['typescript', '@types/node'].map((name) => `${name}@${manifest.devDependencies[name]}`)
      : [];
    const words = [
      'install',
      '--no-audit',
      '--no-fund',
      '--prefer-offline',
      ...scripts,
      trial.tarball,
      ...compilers,
    ];
    const installed = await run([...trial.npm, ...words], place);
    // npm 11 warns of scripts it will not run in future, npm 12 of those it did not run.
    const warned = /install-scripts|allow-scripts|EBADENGINE|deprecated/.test(installed.said);
    expect('npm install', installed, installed.code === 0 && !warned);
    if (installed.code !== 0) return wrong;

    const help = await run([...trial.npx, 'rosterd', '--help'], place);
    expect('rosterd --help', help, help.code === 0 && help.said.includes('Usage: rosterd'));

    const rows = /^mirror .+ [1-9][\d,]* investments of 3 companies$/m;
    const demo = await run([...trial.npx, 'rosterd', 'demo', '--records', '200'], place, rows);
    expect('rosterd demo', demo, rows.test(demo.said) && !/^error:/m.test(demo.said));

    // Its stdin is closed, so it ends at once.
    const assistant = await run([...trial.npx, 'rosterd', 'mcp', '--database', 'mirror.db'], place);
    expect('rosterd mcp', assistant, assistant.code === 0);

    const program = `import('rosterd').then(({ createMirror }) => console.log(typeof createMirror))`;
    const imported = await run(['node', '-e', program], place);
    expect(`import('rosterd')`, imported, imported.said === 'function\n');
    if (trial.types) await compile();
    return wrong;
  } finally {
    rmSync(cwd, { recursive: true, force: true, maxRetries: 5 });
  }

  async function compile(): Promise<void> {
    cpSync(join(packageRoot, 'test', 'library', 'example.ts'), join(cwd, 'example.ts'));
    writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify(strict));
    const compiled = await run([...trial.npx, 'tsc'], place);
    expect('tsc', compiled, compiled.code === 0);
  }
}
