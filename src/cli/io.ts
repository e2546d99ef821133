import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../runtime/clock.js';

export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };
/** SIGINT and SIGTERM stop a command. So does SIGHUP, except for a daemon without a terminal, which it reloads. */
export type ListenedSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The parts of the process that a command uses; tests pass their own. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** Calls `listener` each time the signal arrives, until the returned function is called. */
  onSignal(signal: ListenedSignal, listener: () => void): () => void;
  /** Whether a signal without a listener ends the process. It does not end the first process of a container. */
  readonly endsBySignals: boolean;
  /** Ends the process immediately. */
  quit(code: number): void;
}
