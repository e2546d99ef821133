import { existsSync, mkdirSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { dirname, isAbsolute, join } from 'node:path';

/**
 * Lets Node keep compiled code between two commands, in `rosterd` under the user's cache folder. Does nothing when that
 * folder cannot be used: without it a command starts a little later. Node runs what it finds there, so the folder must
 * belong to this user and be writable by no other user. `NODE_COMPILE_CACHE` and `NODE_DISABLE_COMPILE_CACHE` have
 * Node's own meaning.
 */
export function keepCompiledCode(env: Readonly<Record<string, string | undefined>>): void {
  const folder = cacheFolder(env);
  if (folder === null || env.NODE_COMPILE_CACHE !== undefined) return;
  try {
    make(folder);
    const { uid, mode } = statSync(folder);
    if (process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0))
      enableCompileCache(folder);
  } catch {
    // A read-only home, or none at all.
  }
}

/** As `makeFolders`, which would be one more file for every command to load. */
function make(folder: string): void {
  if (existsSync(folder)) return;
  make(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/** Returns the folder, or null without a home. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string | null {
  const caches = env.XDG_CACHE_HOME ?? '';
  const home = env.HOME ?? env.LOCALAPPDATA ?? '';
  if (isAbsolute(caches)) return join(caches, 'rosterd', 'compiled');
  return isAbsolute(home) ? join(home, '.cache', 'rosterd', 'compiled') : null;
}
