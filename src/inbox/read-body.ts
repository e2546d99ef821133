import type { IncomingMessage } from 'node:http';
import { BodyBuffer } from '../runtime/body-buffer.js';
import type { Clock } from '../runtime/clock.js';
import { Refusal } from './refusal.js';

/** Real deliveries are smaller than 20 KB. */
export const bodyBytesMax = 64 * 1024;

/** A sender that exceeds this is not making a mistake any more, so the connection is closed. */
const drainBytesMax = 16 * 1024 * 1024;
const drainMillisMax = 2000;

/**
 * Returns the raw bytes of a body, as signed. The size is limited here, the time by the server's `requestTimeout`. A
 * body that is too large is discarded; `drained` reads a bounded rest. `onKept` receives the number of bytes newly
 * held in memory.
 */
export function readBody(request: IncomingMessage, onKept: (bytes: number) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new BodyBuffer(onKept);
    const settle = (outcome: () => void) => {
      request.off('data', onData).off('end', onEnd).off('close', onCut).off('error', onCut);
      outcome();
    };
    const onData = (chunk: Buffer) => {
      if (body.add(chunk, bodyBytesMax)) return;
      request.pause();
      settle(() => reject(new Refusal('too_large')));
    };
    const onEnd = () => settle(() => resolve(body.whole()));
    const onCut = () => settle(() => reject(new Refusal('cut_off')));
    request.on('data', onData).on('end', onEnd).on('close', onCut).on('error', onCut);
  });
}

/**
 * Reads and discards the rest of a rejected body, so a sender that sends first and reads later receives the response.
 * Closing a connection with unread bytes resets it, and the reset overtakes the response. Limited in bytes and time;
 * after that the connection is closed.
 */
export function drained(request: IncomingMessage, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const finished = new AbortController();
    const settle = () => {
      request.off('data', onData).off('end', settle).off('close', settle).off('error', settle);
      finished.abort();
      resolve();
    };
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > drainBytesMax) settle();
    };
    request.on('data', onData).on('end', settle).on('close', settle).on('error', settle);
    request.resume();
    void clock.wait(drainMillisMax, finished.signal).then(settle);
  });
}
