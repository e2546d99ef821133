import { listenFault } from '../daemon/listen-fault.js';
import { Fault } from '../domain/fault.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../platform/sandbox/sandbox.js';

export type { ReadyDocument } from '../platform/sandbox/document.js';
export type { Sandbox, SandboxOptions } from '../platform/sandbox/sandbox.js';

/** Starts the sandbox platform alone. An address it cannot listen on is a `usage` fault. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  try {
    return await startSandbox(options);
  } catch (error) {
    if (options.listen !== undefined && !(error instanceof Fault))
      throw listenFault(error, '--listen', options.listen);
    throw error;
  }
}
