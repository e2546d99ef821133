import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { replaceFile } from './replace-file.js';

/** Replaces a file only its owner may read, folder included, so that it survives a power cut. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  try {
    await makePrivateFolder(dirname(file));
    await replaceFile(file, text);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new Fault('usage', `${file} cannot be written (${code})`, {
      hint: 'check its folder: who owns it, and whether its disk has room',
      cause: error,
    });
  }
}

export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}
