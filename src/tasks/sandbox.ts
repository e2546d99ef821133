import { dirname, resolve } from 'node:path';
import { listenFault } from '../daemon/listen-fault.js';
import { Fault } from '../domain/fault.js';
import { shellWord } from '../domain/shell-word.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../platform/sandbox/sandbox.js';
import { makeRoom } from '../runtime/unwritable.js';

export type { ReadyDocument } from '../platform/sandbox/document.js';
export type { Sandbox, SandboxOptions } from '../platform/sandbox/sandbox.js';

/** Starts the sandbox platform alone. An address or a data file that it cannot use is a `usage` fault. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { dataFile, listen } = options;
  try {
    return await startSandbox(options);
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (dataFile !== undefined && isOfFile(error)) throw dataFault(error, dataFile);
    throw listen === undefined ? error : listenFault(error, '--listen', listen);
  }
}

/** An error of a file has its path, one of a listener an address. */
function isOfFile(error: unknown): error is Error & { code: string } {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return error.code.startsWith('SQLITE_') || 'path' in error;
}

function dataFault(error: Error & { code: string }, file: string): Fault {
  if (error.code === 'SQLITE_FULL')
    return new Fault('database_full', `--data: no room left to write ${file}`, {
      hint: makeRoom,
      cause: error,
    });
  return new Fault('usage', `--data: ${file} cannot be used (${error.code})`, {
    hint: `name a sandbox's file, or a new one in a folder that this user can write: ls -ld ${shellWord(dirname(resolve(file)))}`,
    cause: error,
  });
}
