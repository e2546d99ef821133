import type { IncomingMessage } from 'node:http';
import type { Clock } from '../runtime/clock.js';
import { Refusal } from './refusal.js';

/** Real deliveries stay under 20 KB. */
export const bodyBytesMax = 64 * 1024;

/** Beyond this nobody reads on to be polite: it is no mistake any more. */
const drainBytesMax = 16 * 1024 * 1024;
const drainMillisMax = 2000;

/**
 * Returns the raw bytes of a body, as signed. Its size is bounded here, its time by the server's `requestTimeout`.
 * A body that is too large is not kept, and read no further than `drained` does. `onKept` is told how many more bytes
 * of memory are kept: a sender that comes byte by byte costs no more than one that sends all at once.
 */
export function readBody(request: IncomingMessage, onKept: (bytes: number) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let kept: Buffer = Buffer.alloc(0);
    let bytes = 0;
    const settle = (outcome: () => void) => {
      request.off('data', onData).off('end', onEnd).off('close', onCut).off('error', onCut);
      outcome();
    };
    const onData = (chunk: Buffer) => {
      const before = bytes;
      bytes += chunk.length;
      if (bytes > bodyBytesMax) {
        request.pause();
        settle(() => reject(new Refusal('too_large')));
        return;
      }
      if (bytes > kept.length) {
        // Most bodies come whole; the others double their room, instead of keeping an object for each chunk.
        const grown = before === 0 ? chunk : Buffer.alloc(Math.max(bytes, 2 * kept.length));
        if (before > 0) kept.copy(grown, 0, 0, before);
        onKept(grown.length - kept.length);
        kept = grown;
      }
      if (before > 0) chunk.copy(kept, before);
    };
    const onEnd = () => settle(() => resolve(kept.subarray(0, bytes)));
    const onCut = () => settle(() => reject(new Refusal('cut_off')));
    request.on('data', onData).on('end', onEnd).on('close', onCut).on('error', onCut);
  });
}

/**
 * Reads what is left of a refused body and throws it away, so that a sender who sends first and reads later finds
 * the answer: closing on unread bytes resets the connection, and the reset overtakes the answer. Bounded in bytes
 * and time; whoever goes on is cut off.
 */
export function drained(request: IncomingMessage, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const over = new AbortController();
    const settle = () => {
      request.off('data', onData).off('end', settle).off('close', settle).off('error', settle);
      over.abort();
      resolve();
    };
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > drainBytesMax) settle();
    };
    request.on('data', onData).on('end', settle).on('close', settle).on('error', settle);
    request.resume();
    void clock.wait(drainMillisMax, over.signal).then(settle);
  });
}
