import { sep } from 'node:path';

/** Platforms for which better-sqlite3 brings SQLite ready to run. */
const prebuilt = 'Linux, macOS or Windows on x64 or arm64';

const missing = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** What to say when a part of the program cannot be loaded, and what to do; null for every other error. */
export function incompleteInstallation(error: unknown): { message: string; hint: string } | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as NodeJS.ErrnoException;
  const [what = ''] = error.message.split('\n');
  if (code === 'ERR_DLOPEN_FAILED')
    return {
      message: `a native part cannot be loaded on ${here()} (${what})`,
      hint: `reinstall on this machine (npm ci), or run it on ${prebuilt}`,
    };
  if (code === undefined || !missing.has(code)) return null;
  if (what.includes('better_sqlite3.node'))
    return {
      message: `better-sqlite3 brings no SQLite for ${here()}`,
      hint: `run it on ${prebuilt}, or compile it here: npm rebuild better-sqlite3 --build-from-source`,
    };
  return {
    message: `this installation is not complete (${missingPart(what)} is missing)`,
    hint: 'npm ci in a clone, npm install rosterd elsewhere',
  };
}

const here = () => `${process.platform} ${process.arch}`;

/** The package, or the file below its package; Node's message says where it was wanted as well. */
function missingPart(message: string): string {
  const [, name = 'a module'] = /^Cannot find (?:package|module) '([^']+)'/.exec(message) ?? [];
  return name.split(`${sep}node_modules${sep}`).at(-1) ?? name;
}
