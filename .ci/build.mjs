// usage: node .ci/build.mjs [--types]
//
// Builds dist/ from src/, unless dist/ already matches the sources. Runs at the end of `npm ci`, and in a clone before
// `npm start` and the command `rosterd` load dist/. A build goes to a temporary folder and is renamed when complete, by
// one process at a time, so that no command loads a partial one. --types adds the declarations that a package needs.
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

/** An error that a person can fix: a sentence and the next step, without a stack trace. */
export class BuildFailed extends Error {
  constructor(message, next) {
    super(message);
    this.next = next;
  }
}

/** Resolves when dist/ matches the current sources. Does nothing in a folder without sources. */
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

/** Hashes names and contents: a checkout or a copy changes times without changing files. */
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
    at('package.json'),
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
    await Promise.all([bundleQueryBuilder(next), bundleEditor(join(next, 'console/assets'))]);
    await endEsbuild();
    for (const name of ['main.js', 'start.js']) chmodSync(join(next, 'cli', name), 0o755);
    writeFileSync(join(next, stampName), `${JSON.stringify({ sources, types })}\n`);
    if (existsSync(at('dist'))) renameSync(at('dist'), old);
    renameSync(next, at('dist'));
  } finally {
    for (const folder of [next, old]) rmSync(folder, { recursive: true, force: true });
  }
  console.error(`built in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
}

/** Translates each file separately. `npm run types` checks types, not this. */
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

/** Puts Kysely into the file that imports it: Node takes several times as long to load its 255 files. */
async function bundleQueryBuilder(outdir) {
  const { build: bundle } = await import('esbuild');
  await bundle({
    entryPoints: [at('src/store/query-builder.ts')],
    outfile: join(outdir, 'store/query-builder.js'),
    allowOverwrite: true,
    bundle: true,
    // Without comments, which are half of it.
    minifyWhitespace: true,
    banner: { js: licenseOf('kysely', 'Kysely') },
    ...{ format: 'esm', platform: 'node', target: 'node22.19', logLevel: 'error' },
  });
}

const licenseOf = (name, title) =>
  `/* ${title}, bundled:\n${readFileSync(at('node_modules', name, 'LICENSE'), 'utf8').trim()}\n*/`;

/** Bundles the editor of the SQL page with CodeMirror, so that users of the package do not install it. */
async function bundleEditor(folder) {
  const { build: bundle } = await import('esbuild');
  await bundle({
    entryPoints: [at('src/console/assets/editor.js')],
    outfile: join(folder, 'editor.js'),
    allowOverwrite: true,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    banner: { js: licenseOf('@codemirror/view', 'CodeMirror and Lezer') },
    logLevel: 'error',
  });
}

/** Ends the process that esbuild keeps: the daemon or demonstration that begins after a build runs for long. */
async function endEsbuild() {
  const { stop } = await import('esbuild');
  await stop();
}

/**
 * Writes the declarations that `import 'rosterd'` reaches; those of all internals would be three quarters of a
 * package.
 */
export async function declare(outdir) {
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
    // esbuild has already printed the place.
    if (Array.isArray(error.errors)) throw new BuildFailed('src/ cannot be translated', 'npm run types');
    throw error;
  }
}

/** Prints the error in two lines and sets the exit code. */
export function reportBuildFailure(error) {
  process.exitCode = 1;
  if (!(error instanceof BuildFailed)) throw error;
  console.error(`error: ${error.message}\nTry: ${error.next}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await ensureBuilt({ types: process.argv.includes('--types') }).catch(reportBuildFailure);
