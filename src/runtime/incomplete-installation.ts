import { sep } from 'node:path';

/** Platforms for which better-sqlite3 has a prebuilt binary. */
const prebuilt = 'Linux, macOS or Windows on x64 or arm64';

const missing = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** Returns a message and a hint when a module of the program cannot be loaded; null for every other error. */
export function incompleteInstallation(error: unknown): { message: string; hint: string } | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as NodeJS.ErrnoException;
  const [what = ''] = error.message.split('\n');
  if (code === 'ERR_DLOPEN_FAILED')
    return {
      message: `a native module cannot be loaded on ${here()} (${what})`,
      hint: `reinstall on this machine (npm ci), or run it on ${prebuilt}`,
    };
  if (code === undefined || !missing.has(code)) return null;
  if (what.includes('better_sqlite3.node'))
    return {
      message: `better-sqlite3 has no prebuilt SQLite for ${here()}`,
      hint: `run it on ${prebuilt}, or compile it here: npm rebuild better-sqlite3 --build-from-source`,
    };
  return {
    message: `this installation is not complete (${missingPart(what)} is missing)`,
    hint: 'npm ci in a clone, npm install rosterd elsewhere',
  };
}

const here = () => `${process.platform} ${process.arch}`;

/** Returns the missing package or file from Node's message, without the path of the importing file. */
function missingPart(message: string): string {
  const [, name = 'a module'] = /^Cannot find (?:package|module) '([^']+)'/.exec(message) ?? [];
  return name.split(`${sep}node_modules${sep}`).at(-1) ?? name;
}
