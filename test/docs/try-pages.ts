import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';
import { openNames } from './open-names.js';
import { blocksOf } from './page-blocks.js';
import { pages } from './pages.js';
import { tryPage } from './try-page.js';

// usage: tsx test/docs/try-pages.ts [page…]   in a built clone; without arguments, all pages.

/** Timeout for a page that hangs. */
const secondsMax = 600;

/** README.md runs with the real npx; the other pages skip its start time of a second or two per command. */
const withoutNpx = `npx() { shift; \${in_background:+exec} node '${packageRoot}/dist/cli/main.js' "$@"; }`;

/** This clone is already installed and built, so `npm ci` and `npm start` are replaced. */
const preamble = (page: string) => `
unset \${!ROSTERD_@}
npm() {
  case "$1" in
    ci) test -d node_modules ;;
    start) shift; \${in_background:+exec} node dist/cli/start.js "$@" ;;
    *) command npm "$@" ;;
  esac
}
ctrl_c() { kill -INT "$running"; wait "$running"; }
${page === 'README.md' ? '' : withoutNpx}`;

function clone(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-page-'));
  for (const name of ['package.json', '.ci', 'bin', 'schema', 'docs', 'packaging', 'config.example.json'])
    cpSync(join(packageRoot, name), join(folder, name), { recursive: true });
  for (const name of ['node_modules', 'dist']) symlinkSync(join(packageRoot, name), join(folder, name));
  return folder;
}

const wanted = process.argv.slice(2);
for (const page of wanted.length > 0 ? wanted : pages) {
  const text = readFileSync(join(packageRoot, page), 'utf8');
  if (blocksOf(text).every(({ kind }) => kind === 'not run')) continue;
  const folder = clone();
  const began = performance.now();
  const tried = await tryPage(text, {
    folder,
    seconds: secondsMax,
    preamble: preamble(page),
  });
  const { run, compared, notRun } = tried;
  const open = openNames(folder);
  const wrong = tried.wrong ?? (open.length === 0 ? null : `Others may read the names in ${open.join(', ')}`);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  const took = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${page}: ${run} blocks run, ${compared} outputs compared, ${notRun} not run, in ${took} s`);
  if (wrong === null) continue;
  console.error(`${page} does not match its output. ${wrong}`);
  process.exitCode = 1;
}
