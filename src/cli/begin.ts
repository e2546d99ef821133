import { descriptorLimit, descriptorsFault, raiseLimit } from '../runtime/file-descriptors.js';
import { incompleteInstallation, newerNode } from '../runtime/incomplete-installation.js';
import { nodeTooOld, notNode } from '../runtime/supported-node.js';
import { exitCodes } from './exit-codes.js';

/**
 * Loads the rest of the program and runs it. Prints an error and a hint instead when this is not Node, or one that is too
 * old, or a file of the installation is missing. Only `load` may import the rest: a module that an old Node cannot parse would otherwise
 * end the process with a stack trace before the first statement here runs.
 */
export function begin(load: () => Promise<unknown>): void {
  const other = notNode(process.versions);
  const refusal = nodeTooOld(process.versions.node);
  if (other !== null) refuse(other, exitCodes.usage);
  else if (refusal !== null)
    refuse({ message: refusal.message, hint: newerNode(process.env) }, exitCodes.usage);
  else {
    // Read the limit while a file can still be opened: the message for "too many open files" needs it.
    descriptorLimit();
    start(load).catch((error: unknown) => {
      const fault = descriptorsFault(error);
      const known =
        fault === null
          ? (deletedFolder(error) ?? incompleteInstallation(error))
          : { message: fault.message, hint: fault.about.hint ?? raiseLimit };
      if (known === null) throw error;
      refuse(known, exitCodes.failed);
    });
  }
}

/** Imports the cache here, because an old Node does not have what it uses. */
async function start(load: () => Promise<unknown>): Promise<unknown> {
  const { keepCompiledCode } = await import('../runtime/compile-cache.js');
  keepCompiledCode(process.env);
  return await load();
}

/** Returns what to print when the folder of this process has no path any more; null for another error. */
function deletedFolder(error: unknown): Refusal | null {
  if (!(error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd')) return null;
  return {
    message: 'the current folder does not exist any more',
    hint: 'the same command in a folder that exists',
  };
}

interface Refusal {
  readonly message: string;
  readonly hint: string;
}

function refuse({ message, hint }: Refusal, code: number): void {
  process.exitCode = code;
  process.stderr.write(`error: ${message}\nTry: ${hint}\n`);
}
