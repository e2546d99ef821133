import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/**
 * What comes out of gzip. Of nothing comes nothing, as of an empty answer that a proxy called zipped. Whoever turns away
 * before the end lets go of the connection, which `body` sees to.
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
            const stream = unzipping(behind(first.value, zipped));
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
  // What goes wrong is told to whoever reads on.
  const stream = pipeline(Readable.from(body, { objectMode: false }), createGunzip(), () => {});
  stream.on('error', () => {});
  return stream;
}

async function* behind(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}
