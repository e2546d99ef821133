import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';

/**
 * Replaces a file durably, with mode 0600, and creates its folder with mode 0700 if necessary. Throws `database_full` when
 * the disk is full, and `usage` when the file cannot be written for another reason.
 */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  // Loaded here, because most commands only read such files.
  const [{ replaceFile }, { unwritable }] = await Promise.all([
    import('./replace-file.js'),
    import('./unwritable.js'),
  ]);
  try {
    await makePrivateFolder(dirname(file));
    await replaceFile(file, text);
  } catch (error) {
    throw unwritable(file, error);
  }
}

/**
 * Creates the folder of a file if necessary. Throws as `writePrivateFile` when it cannot be written to. Called before the
 * platform makes a secret that the file is to keep: one that cannot be stored would be lost, and stay valid.
 */
export async function requireWritable(file: string): Promise<void> {
  try {
    await makePrivateFolder(dirname(file));
    await access(dirname(file), constants.W_OK);
  } catch (error) {
    const { unwritable } = await import('./unwritable.js');
    throw unwritable(file, error);
  }
}

export async function makePrivateFolder(folder: string): Promise<void> {
  const { makeOwnedFolder } = await import('./file-owner.js');
  makeOwnedFolder(folder);
}

/**
 * The format of the files and vault entries that rosterd writes as JSON. A version that changes a format in a way that
 * an older version would misread adds a `format` with the next number; without one, the format is 1.
 */
const knownFormat = 1;

/**
 * Throws `usage` when a later version of rosterd wrote `fields`: this version would drop what it does not know, such as
 * a token, when it writes them again. `place` names the file or entry.
 */
export function refuseNewerFormat(place: string, { format }: Readonly<Record<string, unknown>>): void {
  if (typeof format !== 'number' || format <= knownFormat) return;
  throw new Fault(
    'usage',
    `${place} has format ${format}, written by a later version of rosterd; this version knows up to ${knownFormat}`,
    { hint: 'install that version again, or restore a copy that this version wrote' },
  );
}
