import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { replaceFile } from './replace-file.js';

/**
 * Replaces a file durably, with mode 0600, and creates its folder with mode 0700 if necessary. Throws `usage` when it
 * cannot be written.
 */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  try {
    await makePrivateFolder(dirname(file));
    await replaceFile(file, text);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new Fault('usage', `${file} cannot be written (${code})`, {
      hint: 'check who owns its folder and whether the disk is full',
      cause: error,
    });
  }
}

export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}
