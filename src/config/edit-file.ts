import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { withFileLock } from '../runtime/file-lock.js';
import { Interrupter } from '../runtime/interruption.js';
import { syncFolder } from '../runtime/sync-file.js';
import { JsonMistake, parseJsonText } from './json-text.js';
import { withValue } from './overrides.js';
import type { Path } from './path.js';

export interface Edit {
  readonly path: Path;
  readonly value: unknown;
}

/** A configuration contains references to secrets but no secrets, so others may read it. */
export const newFileMode = 0o644;

/** The edits, or a function that returns them for the present content: a place in a list may have changed since it was read. */
export type Edits = readonly Edit[] | ((content: unknown) => readonly Edit[]);

/**
 * Sets values in a configuration file and keeps everything else, including its mode, owner and indentation. Creates a missing
 * file. Processes that edit it at the same time take turns, so that none overwrites what another one wrote. Throws `usage`
 * when the file cannot be edited.
 */
export async function editConfigFile(file: string, edits: Edits, clock: Clock): Promise<void> {
  try {
    const real = await realpath(file).catch(() => file);
    // Others hold the lock for a moment only. A command that is being stopped still writes what it has connected.
    await withFileLock({ path: `${real}.lock`, clock, signal: new Interrupter() }, () => edit(file, edits));
  } catch (error) {
    const cause = error instanceof Fault ? error.about.cause : error;
    if (error instanceof Fault && cause === undefined) throw error;
    throw new Fault('usage', `${file} cannot be edited (${reasonOf(cause)})`, {
      hint: 'add by hand what this command prints',
      cause,
    });
  }
}

async function edit(file: string, edits: Edits): Promise<void> {
  const existing = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const before = existing === undefined ? {} : parseJsonText(existing).value;
  const wanted = typeof edits === 'function' ? edits(before) : edits;
  const after = wanted.reduce((value, edit) => withValue(value, edit.path, edit.value), before);
  const indent = /^([ \t]+)"/m.exec(existing ?? '')?.[1] ?? '  ';
  await replaceWhole(file, `${JSON.stringify(after, null, indent)}\n`, newFileMode);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof JsonMistake)) return (error as NodeJS.ErrnoException).code ?? 'unknown reason';
  const { line, column } = error.place;
  return `line ${line}, column ${column}: ${error.message}`;
}

/**
 * Replaces the file atomically: a concurrent reader sees the old or the new text, never a mix. Of a symbolic link, it
 * replaces the file behind it. Keeps owner, group and mode of an existing file, as far as this user may set them: a daemon of
 * another user reads it. A new file gets `mode`, less the umask.
 */
export async function replaceWhole(path: string, text: string, mode: number): Promise<void> {
  const file = await realpath(path).catch(() => path);
  const owner = await stat(file).catch(() => null);
  const fresh = `${file}.new`;
  await rm(fresh, { force: true });
  const handle = await open(fresh, 'wx', owner === null ? mode : 0o600);
  try {
    await handle.writeFile(text);
    if (owner !== null) {
      await handle.chown(owner.uid, owner.gid).catch(() => {});
      // The umask of a root that is strict would take the file away from the daemon's group.
      await handle.chmod(owner.mode & 0o777).catch(() => {});
    }
    await handle.sync();
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
  await syncFolder(dirname(file));
}
