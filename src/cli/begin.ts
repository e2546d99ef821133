import { descriptorLimit, descriptorsFault, raiseLimit } from '../runtime/file-descriptors.js';
import { incompleteInstallation } from '../runtime/incomplete-installation.js';
import { nodeTooOld } from '../runtime/supported-node.js';
import { exitCodes } from './exit-codes.js';

/**
 * Loads the rest of the program and runs it, unless this Node is too old for it or a part is missing: then two lines say
 * so. Everything else is loaded by `load` alone, because a module that an old Node cannot read would end it with a stack
 * trace before our first statement.
 */
export function begin(load: () => Promise<unknown>): void {
  const refusal = nodeTooOld(process.versions.node);
  if (refusal !== null) refuse(refusal, exitCodes.usage);
  else {
    // Read while a file can still be opened, for the message of when none can.
    descriptorLimit();
    load().catch((error: unknown) => {
      const fault = descriptorsFault(error);
      const known =
        fault === null
          ? incompleteInstallation(error)
          : { message: fault.message, hint: fault.about.hint ?? raiseLimit };
      if (known === null) throw error;
      refuse(known, exitCodes.failed);
    });
  }
}

function refuse({ message, hint }: { message: string; hint: string }, code: number): void {
  process.exitCode = code;
  process.stderr.write(`error: ${message}\nTry: ${hint}\n`);
}
