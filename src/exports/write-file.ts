import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { type Random, randomText } from '../runtime/random.js';
import { syncFolder } from '../runtime/sync-file.js';
import { passingUnwritable, unwritable } from '../runtime/unwritable.js';
import { gathered, type Piece } from './gather.js';
import { unfinishedStart, whileUnfinished } from './unfinished.js';

/** So much is written before the disk has to have it: a commit of the daemon would wait for what is not there yet. */
const unsyncedBytesMax = 8 * 1_048_576;

/**
 * Writes the pieces to a temporary file with mode 0600 and renames it to `file` when all are on disk, so that `file` is
 * always complete. A failure leaves no temporary file and keeps an existing `file`; what a killed process left is removed
 * by the next export to `file`. Returns the number of bytes written.
 * Throws `stopped` when `signal` aborts, `database_full` when the disk is full, and `usage` when the folder or the file
 * cannot be written.
 */
export async function writeExport(
  file: string,
  pieces: AsyncIterable<Piece>,
  random: Random,
  signal: AbortSignal,
): Promise<number> {
  const folder = dirname(file);
  const unfinished = `${unfinishedStart(file)}${randomText(random, 8)}`;
  const handle = await open(unfinished, 'wx', 0o600).catch((error: unknown) => {
    throw folderFault(folder, error);
  });
  return await whileUnfinished(unfinished, file, async () => {
    let bytes = 0;
    let synced = 0;
    try {
      for await (const piece of gathered(pieces)) {
        if (signal.aborted)
          throw new Fault('stopped', 'the export was stopped before its end; no file was written');
        await onDisk(file, handle.writeFile(piece));
        bytes += Buffer.byteLength(piece);
        if (bytes - synced < unsyncedBytesMax) continue;
        await onDisk(file, handle.datasync());
        synced = bytes;
      }
      await onDisk(file, handle.sync());
    } finally {
      await handle.close();
    }
    await onDisk(
      file,
      rename(unfinished, file).then(() => syncFolder(folder)),
    );
    return bytes;
  });
}

/** Pieces are read from the mirror meanwhile, whose errors are other ones. */
async function onDisk(file: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw unwritable(file, error);
  }
}

export function folderFault(folder: string, cause: unknown): Fault {
  const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason';
  const hint =
    code === 'ENAMETOOLONG'
      ? 'Choose a shorter name: while the file is written, about 50 characters are added to it.'
      : 'Name a file in an existing folder that you can write to.';
  return (
    passingUnwritable(`a file in ${folder}`, cause) ??
    new Fault('usage', `cannot write to ${folder} (${code})`, { hint, cause })
  );
}
