import type { Writable } from 'node:stream';
import { Fault } from '../../domain/fault.js';

/**
 * Writes the pieces in order and waits for a slow reader, so that memory does not grow with the result. Throws
 * `stopped` when `signal` aborts before the end.
 */
export async function writePieces(
  stream: Writable,
  pieces: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  for await (const piece of pieces) {
    if (!signal.aborted && !stream.write(piece)) await drained(stream, signal);
    if (signal.aborted) throw new Fault('stopped', 'stopped before the end of the result');
  }
}

function drained(stream: Writable, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      stream.off('drain', go);
      signal.removeEventListener('abort', go);
      resolve();
    };
    stream.on('drain', go);
    signal.addEventListener('abort', go, { once: true });
    if (signal.aborted) go();
  });
}
