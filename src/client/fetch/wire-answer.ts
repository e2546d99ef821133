import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { HeadersRead, WireResponse } from './fetch.js';

/** An answer of undici's `request` as the layers read it: headers by name, the body inflated as it comes. */
export function wireAnswer({ statusCode, headers, body }: Dispatcher.ResponseData): WireResponse {
  const read: HeadersRead = {
    get: (name) => {
      const value = headers[name.toLowerCase()];
      return Array.isArray(value) ? value.join(', ') : (value ?? null);
    },
  };
  const zipped = gzips.has((read.get('content-encoding') ?? '').trim().toLowerCase());
  return { status: statusCode, headers: read, body: iterated(zipped ? inflated(body) : body) };
}

const gzips: ReadonlySet<string> = new Set(['gzip', 'x-gzip']);

function inflated(body: Readable): Readable {
  // What goes wrong is told to whoever reads on.
  return pipeline(body, createGunzip(), () => {});
}

/** Whoever turns away before reading also lets go of the connection, which a stream's own iterator would not. */
function iterated(stream: Readable): AsyncIterable<Uint8Array> {
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
