// usage: node .ci/build.mjs [--types]
//
// Makes dist/ from src/, unless it is made from these very sources already: at the end of `npm ci`, and before `npm start`
// and the command `rosterd` of a clone load dist/. A build is made aside and renamed when it is complete, by one process
// at a time, so that no command loads half of one. --types adds the declarations that a package needs.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { holdingLock } from './lock.mjs';
import { root } from './root.mjs';
import { run } from './run-child.mjs';

const at = (...parts) => join(root, ...parts);
const stampName = '.made-from.json';

/** Something a person can mend: a sentence and the next step, without a stack trace. */
export class BuildFailed extends Error {
  constructor(message, next) {
    super(message);
    this.next = next;
  }
}

/** Resolves when dist/ is made from the present sources. Does nothing in a folder without sources. */
export async function ensureBuilt({ types = false } = {}) {
  if (!existsSync(at('src'))) return;
  const wanted = sourcesDigest();
  if (isFresh(wanted, types)) return;
  await explained(async () => {
    mkdirSync(at('.cache'), { recursive: true });
    await holdingLock(at('.cache', 'build.lock'), 'the build', async () => {
      if (!isFresh(wanted, types)) await build(wanted, types);
    });
  });
}

function isFresh(wanted, types) {
  try {
    const stamp = JSON.parse(readFileSync(at('dist', stampName), 'utf8'));
    return stamp.sources === wanted && (stamp.types || !types);
  } catch {
    return false;
  }
}

/** Of names and contents: a checkout or a copy changes times without changing anything. */
function sourcesDigest() {
  const digest = createHash('sha256');
  const sources = readdirSync(at('src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
  for (const file of [
    ...sources,
    at('tsconfig.json'),
    at('tsconfig.build.json'),
    fileURLToPath(import.meta.url),
  ])
    digest
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update('\0');
  return digest.digest('hex');
}

async function build(sources, types) {
  const began = performance.now();
  console.error(`building rosterd from src/${types ? ', with its types' : ''} …`);
  const next = at('.cache', `dist.next-${process.pid}`);
  const old = at('.cache', `dist.old-${process.pid}`);
  try {
    rmSync(next, { recursive: true, force: true });
    await compile(next);
    if (types) await declare(next);
    cpSync(at('src/console/assets'), join(next, 'console/assets'), { recursive: true });
    for (const name of ['main.js', 'start.js']) chmodSync(join(next, 'cli', name), 0o755);
    writeFileSync(join(next, stampName), `${JSON.stringify({ sources, types })}\n`);
    if (existsSync(at('dist'))) renameSync(at('dist'), old);
    renameSync(next, at('dist'));
  } finally {
    for (const folder of [next, old]) rmSync(folder, { recursive: true, force: true });
  }
  console.error(`built in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
}

/** Translates each file by itself. Types are checked by `npm run types`, not here. */
async function compile(outdir) {
  const { build: bundleNothing } = await import('esbuild');
  await bundleNothing({
    entryPoints: readdirSync(at('src'), { recursive: true })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => at('src', name)),
    ...{ outbase: at('src'), outdir, tsconfig: at('tsconfig.json') },
    ...{ format: 'esm', platform: 'node', target: 'node22.19', logLevel: 'error' },
  });
}

/** The declarations that `import 'rosterd'` reaches; those of everything inside would be three quarters of a package. */
async function declare(outdir) {
  const tsc = at('node_modules/typescript/bin/tsc');
  const all = `${outdir}.types`;
  try {
    await run(process.execPath, [tsc, '-p', at('tsconfig.build.json'), '--outDir', all], { cwd: root });
    for (const file of reachedFrom(join(all, 'index.d.ts'))) cpSync(file, join(outdir, relative(all, file)));
  } finally {
    rmSync(all, { recursive: true, force: true });
  }
}

function reachedFrom(declaration, seen = new Set()) {
  if (seen.has(declaration)) return seen;
  seen.add(declaration);
  for (const [, specifier] of readFileSync(declaration, 'utf8').matchAll(
    /(?:from |import\(?)\s*['"](\.[^'"]+)\.js['"]/g,
  ))
    reachedFrom(join(dirname(declaration), `${specifier}.d.ts`), seen);
  return seen;
}

async function explained(work) {
  try {
    await work();
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(error.code))
      throw new BuildFailed(
        `dist/ is not made from the present sources, and ${error.path ?? root} cannot be written`,
        `make ${root} writable, or use a clone of your own`,
      );
    if (error.code === 'ENOSPC')
      throw new BuildFailed(`no room is left on the disk of ${root}`, `df -h ${root}`);
    if (error.code === 'ERR_MODULE_NOT_FOUND')
      throw new BuildFailed('the packages that build rosterd are not installed', `npm ci, in ${root}`);
    // esbuild has printed where.
    if (Array.isArray(error.errors)) throw new BuildFailed('src/ cannot be translated', 'npm run types');
    throw error;
  }
}

/** Prints what went wrong in two lines, and leaves the exit code. */
export function reportBuildFailure(error) {
  process.exitCode = 1;
  if (!(error instanceof BuildFailed)) throw error;
  console.error(`error: ${error.message}\nTry: ${error.next}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await ensureBuilt({ types: process.argv.includes('--types') }).catch(reportBuildFailure);
