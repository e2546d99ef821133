import type { Writable } from 'node:stream';
import { Fault } from '../../domain/fault.js';

/**
 * Writes one piece after the other and waits whenever the reader is slower, so that a result of any size takes no
 * memory. Throws `stopped` when `signal` fires before the end.
 */
export async function writePieces(
  stream: Writable,
  pieces: AsyncIterable<string>,
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
