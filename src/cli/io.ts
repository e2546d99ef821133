import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../runtime/clock.js';

export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };
/** The first two stop a command; SIGHUP reloads a daemon. */
export type ListenedSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The process as a command sees it; tests hand in their own. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** Calls back each time the signal arrives, until the returned function is called. */
  onSignal(signal: ListenedSignal, listener: () => void): () => void;
  /** Ends the process now, whatever is open. */
  quit(code: number): void;
}
