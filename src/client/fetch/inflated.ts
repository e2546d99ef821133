import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** What comes out of gzip. Whoever turns away before the end lets go of the connection, which `body` sees to. */
export function inflated(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  // What goes wrong is told to whoever reads on.
  const stream = pipeline(Readable.from(body, { objectMode: false }), createGunzip(), () => {});
  stream.on('error', () => {});
  return {
    [Symbol.asyncIterator]: () => {
      const chunks: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]();
      return {
        next: () => chunks.next(),
        return: async () => {
          stream.destroy();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
