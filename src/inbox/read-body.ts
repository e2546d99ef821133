import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.js';

/** Real deliveries stay under 20 KB. */
export const bodyBytesMax = 64 * 1024;

/**
 * The raw bytes of a body, as signed. Its size is bounded here, its time by the server's `requestTimeout`.
 * What is too large is no longer read: the connection ends with the answer.
 */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const settle = (outcome: () => void) => {
      request.off('data', onData).off('end', onEnd).off('close', onCut).off('error', onCut);
      outcome();
    };
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bodyBytesMax) {
        chunks.push(chunk);
        return;
      }
      request.pause();
      settle(() => reject(new Refusal('too_large')));
    };
    const onEnd = () => settle(() => resolve(Buffer.concat(chunks, bytes)));
    const onCut = () => settle(() => reject(new Refusal('cut_off')));
    request.on('data', onData).on('end', onEnd).on('close', onCut).on('error', onCut);
  });
}
