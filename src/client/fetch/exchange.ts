import type { Dispatcher } from 'undici';
import { ArrivingBody } from './arriving-body.js';
import type { HeadersRead, WireInit, WireResponse } from './fetch.js';
import { inflated } from './inflated.js';

/**
 * Sends one request on an undici dispatcher, without the streams that its `request` wraps around a response: see
 * docs/evidence/speed.md. Resolves with the headers; the body follows in chunks.
 */
export function exchange(dispatcher: Dispatcher, url: URL, init: WireInit): Promise<WireResponse> {
  const { method, headers, body, signal } = init;
  const { promise, resolve, reject } = withResolvers<WireResponse>();
  let cut: (reason: Error) => void = reject;
  let arriving: ArrivingBody | undefined;
  const abort = () => cut(reasonOf(signal));
  const unsubscribe = () => signal.removeEventListener('abort', abort);
  if (signal.aborted) reject(reasonOf(signal));
  else {
    signal.addEventListener('abort', abort, { once: true });
    dispatcher.dispatch(
      { origin: url.origin, path: url.pathname + url.search, method, headers, body },
      {
        // The request waited for a connection until now and may have been aborted meanwhile.
        onRequestStart: (controller) => {
          cut = (reason) => controller.abort(reason);
          if (signal.aborted) abort();
        },
        onResponseStart: (controller, status, names) => {
          // 1xx responses only announce the final one.
          if (status < 200) return;
          const read = readingFrom(names);
          arriving = new ArrivingBody({
            cut: (reason) => controller.abort(reason),
            pause: () => controller.pause(),
            resume: () => controller.resume(),
          });
          resolve({ status, headers: read, body: isZipped(read) ? inflated(arriving) : arriving });
        },
        onResponseData: (_, chunk) => arriving?.push(chunk),
        onResponseEnd: () => {
          unsubscribe();
          arriving?.end();
        },
        onResponseError: (_, error) => {
          unsubscribe();
          if (arriving === undefined) reject(error);
          else arriving.fail(error);
        },
      },
    );
  }
  return promise;
}

function readingFrom(names: Readonly<Record<string, string | readonly string[] | undefined>>): HeadersRead {
  return {
    get: (name) => {
      const value = names[name.toLowerCase()];
      return typeof value === 'string' ? value : (value?.join(', ') ?? null);
    },
  };
}

const gzips: ReadonlySet<string> = new Set(['gzip', 'x-gzip']);
const isZipped = (headers: HeadersRead) =>
  gzips.has((headers.get('content-encoding') ?? '').trim().toLowerCase());

const reasonOf = ({ reason }: AbortSignal): Error =>
  reason instanceof Error ? reason : new Error('the request was aborted');

/** `Promise.withResolvers`, which Node 20 does not have. */
function withResolvers<Value>() {
  let resolve: (value: Value) => void = () => {};
  let reject: (reason: Error) => void = () => {};
  const promise = new Promise<Value>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
