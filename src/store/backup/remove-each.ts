import { rmSync } from 'node:fs';
import { Fault } from '../../domain/fault.js';

export type RemoveFile = (file: string) => void;

const removeFile: RemoveFile = (file) => rmSync(file, { force: true });

/**
 * Deletes each of these files, also after one that the system does not let this user delete. Returns those that are gone, and
 * the fault that names the others; null when there are none.
 */
export function removeEach(
  files: readonly string[],
  what: string,
  remove: RemoveFile = removeFile,
): { readonly removed: readonly string[]; readonly fault: Fault | null } {
  const removed: string[] = [];
  const left: { readonly file: string; readonly error: NodeJS.ErrnoException }[] = [];
  for (const file of files)
    try {
      remove(file);
      removed.push(file);
    } catch (error) {
      left.push({ file, error: error as NodeJS.ErrnoException });
    }
  const [first] = left;
  if (first === undefined) return { removed, fault: null };
  const named = left.map(({ file, error }) => `${file} (${error.code ?? 'unknown reason'})`).join(', ');
  const fault = new Fault('usage', `${what} cannot be deleted: ${named}`, {
    hint: 'Delete them as the user who owns them',
    cause: first.error,
  });
  return { removed, fault };
}
