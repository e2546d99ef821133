import { Fault } from '../../domain/fault.js';
import { abortSignalOf } from '../../runtime/interruption.js';
import { BoundedBody, refusalBytesMax, smallAnswer } from './body-limits.js';
import { type Call, callName, type Fetch, type WireFetch, type WireResponse } from './fetch.js';
import { unreachable } from './unreachable.js';

export interface Caps {
  /**
   * The largest body accepted of any response, counted after decompression. A call may set a lower limit: see
   * `BodyLimits`.
   */
  readonly bodyBytesMax: number;
}

/**
 * The innermost layer: adapts a real fetch. It reads and counts the whole body, and closes the connection as soon as
 * a limit is exceeded, because a small gzip body can expand to a huge one.
 *
 * Only gzip is requested and accepted. Redirects are never followed: they would carry the token along, and the API
 * has none. 304 is the answer to a conditional request, and a redirect otherwise. A connection error becomes `unreachable`;
 * every response with a status is returned.
 */
export function withCaps(wire: WireFetch, caps?: Caps): Fetch {
  return async (call) => {
    const signal = abortSignalOf(call.signal);
    const response = await reach(call, signal, () =>
      wire(call.url, {
        method: call.method,
        headers: { ...call.headers, 'accept-encoding': 'gzip' },
        body: call.body,
        signal,
        redirect: 'manual',
      }),
    );
    const isUnchanged = response.status === 304 && call.headers['if-none-match'] !== undefined;
    if (response.status >= 300 && response.status < 400 && !isUnchanged) {
      await discard(response);
      throw new Fault(
        'contract_broken',
        `${callName(call)} was redirected to ${hostOf(response.headers.get('location'), call.url)}; redirects are not followed`,
        { status: response.status, hint: 'set `platform.baseUrl` to the final address' },
      );
    }
    const encoding = response.headers.get('content-encoding');
    if (encoding !== null && !acceptedEncodings.has(encoding.trim().toLowerCase())) {
      await discard(response);
      throw new Fault('contract_broken', `${callName(call)} answered in an encoding that was not requested`);
    }
    return {
      status: response.status,
      headers: response.headers,
      body: await reach(call, signal, () => readBody(call, response, caps)),
    };
  };
}

const acceptedEncodings: ReadonlySet<string> = new Set(['', 'gzip', 'x-gzip', 'identity']);

async function readBody(call: Call, response: WireResponse, caps: Caps | undefined): Promise<string> {
  if (response.body === null) return '';
  const limits = call.limits ?? smallAnswer;
  const bytesMax = Math.min(limits.bytesMax, caps?.bodyBytesMax ?? limits.bytesMax);
  const body = new BoundedBody({ ...limits, bytesMax });
  const isRefusal = response.status >= 400;
  let bytes = 0;
  // Leaving the loop, also by a throw, cancels the stream, which closes the connection.
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    // The status is enough, however large the error body is.
    if (isRefusal && bytes > refusalBytesMax) break;
    const excess = body.add(chunk);
    if (excess !== null) {
      throw new Fault('contract_broken', `${callName(call)} answered with ${excess}`, {
        status: response.status,
      });
    }
  }
  return body.toString();
}

async function discard(response: WireResponse): Promise<void> {
  // A failure to drain an unwanted body does not matter: the connection is closed either way.
  await response.body?.[Symbol.asyncIterator]()
    .return?.()
    .catch(() => {});
}

async function reach<Result>(call: Call, signal: AbortSignal, send: () => Promise<Result>): Promise<Result> {
  try {
    return await send();
  } catch (error) {
    // The signal's reason is already a Fault: the timeout's, or the caller's stop.
    if (signal.reason instanceof Fault) throw signal.reason;
    if (signal.aborted) throw new Fault('stopped', `${callName(call)} was stopped`);
    if (error instanceof Fault) throw error;
    throw unreachable(call, error);
  }
}

function hostOf(location: string | null, base: URL): string {
  try {
    return new URL(location ?? '', base).host;
  } catch {
    return 'an unreadable address';
  }
}
