import { existsSync } from 'node:fs';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

// An older Node has to be able to load this file: see supported-node.ts.

const inRoot = (path: string) => existsSync(new URL(`../../${path}`, import.meta.url));

/** The published package has no `.ci/`. */
const isClone = () => inRoot('.ci');

/** Platforms for which better-sqlite3 has a prebuilt binary. */
const prebuilt = 'Linux, macOS or Windows on x64 or arm64';
const isPrebuilt =
  ['linux', 'darwin', 'win32'].includes(process.platform) && ['x64', 'arm64'].includes(process.arch);

const missing = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** Returns a message and a hint when a file of the program is missing or damaged; null for every other error. */
export function incompleteInstallation(error: unknown): { message: string; hint: string } | null {
  if (!(error instanceof Error)) return null;
  const { code, path } = error as NodeJS.ErrnoException;
  const [what = ''] = error.message.split('\n');
  if (code === 'ERR_DLOPEN_FAILED')
    return {
      message: `a native module cannot be loaded on ${here()} (${what})`,
      hint: `reinstall on this machine (${reinstall()}), or run it on ${prebuilt}`,
    };
  if (isUnloadable(error)) return incomplete(`${damagedPart(what)} is damaged`);
  const shipped = code === 'ENOENT' && path !== undefined ? shippedPart(path) : null;
  if (shipped !== null) return incomplete(`${shipped} is missing`);
  if (code === undefined || !missing.has(code)) return null;
  if (isPrebuilt && what.includes('better_sqlite3.node'))
    return incomplete(`the SQLite of better-sqlite3 for ${here()} is missing`);
  if (what.includes('better_sqlite3.node'))
    return {
      message: `better-sqlite3 has no prebuilt SQLite for ${here()}`,
      hint: `run it on ${prebuilt}, or compile it here: npm rebuild better-sqlite3 --build-from-source`,
    };
  return incomplete(`${missingPart(what)} is missing`);
}

const incomplete = (part: string) => ({
  message: `this installation is not complete (${part})`,
  hint: reinstall(),
});

/** Returns the command that completes this installation. */
const reinstall = () => (isClone() ? 'npm ci' : 'npm install rosterd');

/**
 * Returns what to type on a Node that is too old. A clone brings its own Node, which npm puts first on the path: if this
 * process is another one, either `npm ci` has not installed it or npm did not start the process.
 */
export function newerNode(env: { readonly [name: string]: string | undefined }): string {
  const install = 'nvm install 24';
  if (!isClone()) return install;
  const own = process.platform === 'win32' ? 'node.cmd' : 'node';
  if (inRoot(`node_modules/.bin/${own}`) && env.npm_execpath === undefined) return 'npx rosterd …';
  return `npm ci (it installs Node 24 for this clone), or ${install}`;
}

const here = () => `${process.platform} ${process.arch}`;

/** Returns the missing package or file from Node's message, without the path of the importing file. */
function missingPart(message: string): string {
  const [, name = 'a module'] = /^Cannot find (?:package|module) '([^']+)'/.exec(message) ?? [];
  return name.split(`${sep}node_modules${sep}`).at(-1) ?? name;
}

/** Returns the part of `schema` or `dist` that a path names, or null. A user's own files may be in the same folder. */
function shippedPart(path: string): string | null {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  if (!path.startsWith(root)) return null;
  const part = path.slice(root.length).split(sep).join('/');
  return /^(?:schema|dist)(?:\/|$)/.test(part) ? part : null;
}

/** Node throws a SyntaxError for a file that it cannot parse or link. Those of `JSON.parse` come from elsewhere. */
function isUnloadable(error: Error): boolean {
  const [frame = ''] = /^ +at .+$/m.exec(error.stack ?? '') ?? [];
  return error instanceof SyntaxError && /\bnode:(?:internal\/)?(?:modules|vm)\b/.test(frame);
}

function damagedPart(message: string): string {
  return /requested module '([^']+)'/.exec(message)?.[1] ?? 'a file';
}
