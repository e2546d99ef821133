import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { parseJsonText } from './json-text.js';
import { withValue } from './overrides.js';
import type { Path } from './path.js';

export interface Edit {
  readonly path: Path;
  readonly value: unknown;
}

/**
 * Sets values in a configuration file and keeps everything else, its mode and its indentation too. A file that is not
 * there is made.
 */
export async function editConfigFile(file: string, edits: readonly Edit[]): Promise<void> {
  try {
    const held = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    const before = held === undefined ? {} : parseJsonText(held).value;
    const after = edits.reduce((value, edit) => withValue(value, edit.path, edit.value), before);
    const indent = /^([ \t]+)"/m.exec(held ?? '')?.[1] ?? '  ';
    const mode = held === undefined ? 0o644 : (await stat(file)).mode & 0o777;
    await replaceWhole(file, `${JSON.stringify(after, null, indent)}\n`, mode);
  } catch (error) {
    if (error instanceof Fault) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new Fault('usage', `${file} cannot be edited (${code})`, {
      hint: 'add the lines printed above by hand',
      cause: error,
    });
  }
}

/** Whoever reads meanwhile sees the file before or after. */
export async function replaceWhole(file: string, text: string, mode: number): Promise<void> {
  const fresh = `${file}.new`;
  await rm(fresh, { force: true });
  const handle = await open(fresh, 'wx', mode);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
  const folder = await open(dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
