import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/**
 * Returns the decompressed body. An empty body stays empty: proxies mark empty responses as gzip. When the reader
 * stops before the end, `body` closes the connection.
 */
export function inflated(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const zipped = body[Symbol.asyncIterator]();
      let chunks: AsyncIterator<Uint8Array> | undefined;
      let close = async (): Promise<unknown> => await zipped.return?.();
      return {
        next: async () => {
          if (chunks === undefined) {
            const first = await zipped.next();
            if (first.done === true) return first;
            const stream = unzipping(prepended(first.value, zipped));
            chunks = stream[Symbol.asyncIterator]();
            close = async () => stream.destroy();
          }
          return await chunks.next();
        },
        return: async () => {
          await close();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function unzipping(body: AsyncIterable<Uint8Array>): Readable {
  // Errors surface when the stream is read.
  const stream = pipeline(Readable.from(body, { objectMode: false }), createGunzip(), () => {});
  stream.on('error', () => {});
  return stream;
}

async function* prepended(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}
