import { Fault } from '../../domain/fault.js';
import { abortSignalOf } from '../../runtime/interruption.js';
import { type Call, callName, type Fetch, type WireFetch, type WireResponse } from './fetch.js';

export interface Caps {
  /** The largest body accepted, counted after inflating. Bytes on the wire are capped by the connection pool. */
  readonly bodyBytesMax: number;
}

/** A full page of 100 records is 0.2 MB; 16 MB is room for a hundredfold growth and still nothing to memory. */
export const defaultCaps: Caps = { bodyBytesMax: 16 * 1024 * 1024 };

/**
 * The innermost layer: a real fetch becomes ours. It reads the whole body while counting, and lets go of the
 * connection the moment there is too much: 0.3 MB of gzip can hold 300 MB.
 *
 * Only gzip is asked for and accepted. A redirect is never followed: it would carry the token along, and the API
 * has none. What cannot be reached becomes `unreachable` here; everything with a status goes on as an answer.
 */
export function withCaps(wire: WireFetch, caps: Caps = defaultCaps): Fetch {
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
    if (response.status >= 300 && response.status < 400) {
      await discard(response);
      throw new Fault(
        'contract_broken',
        `${callName(call)} was redirected to ${hostOf(response.headers.get('location'), call.url)}; redirects are not followed`,
        { status: response.status, hint: 'set `platform.baseUrl` to the address that answers itself' },
      );
    }
    const encoding = response.headers.get('content-encoding');
    if (encoding !== null && !acceptedEncodings.has(encoding.trim().toLowerCase())) {
      await discard(response);
      throw new Fault('contract_broken', `${callName(call)} answered in an encoding nobody asked for`);
    }
    return {
      status: response.status,
      headers: response.headers,
      body: await reach(call, signal, () => readBody(call, response, caps.bodyBytesMax)),
    };
  };
}

const acceptedEncodings: ReadonlySet<string> = new Set(['', 'gzip', 'x-gzip', 'identity']);

async function readBody(call: Call, response: WireResponse, bytesMax: number): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop by a throw cancels the stream, which closes the connection.
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) {
      throw new Fault('contract_broken', `${callName(call)} answered with more than ${bytesMax} bytes`, {
        status: response.status,
      });
    }
    chunks.push(chunk);
  }
  // Bytes that are no UTF-8 become U+FFFD: the same rule that holds for text at the door of the databases.
  return Buffer.concat(chunks, bytes).toString('utf8');
}

async function discard(response: WireResponse): Promise<void> {
  // Failing to drain what nobody wants is not worth a word; the connection is closed either way.
  await response.body?.[Symbol.asyncIterator]()
    .return?.()
    .catch(() => {});
}

async function reach<Result>(call: Call, signal: AbortSignal, send: () => Promise<Result>): Promise<Result> {
  try {
    return await send();
  } catch (error) {
    // The signal's reason is already a Fault: the deadline's, or the caller's wish to stop.
    if (signal.aborted && signal.reason instanceof Fault) throw signal.reason;
    if (signal.aborted) throw new Fault('stopped', `${callName(call)} was stopped`);
    if (error instanceof Fault) throw error;
    throw unreachable(call, error);
  }
}

/** undici hides the cause inside `fetch failed`, nock throws it bare. */
function unreachable(call: Call, error: unknown): Fault {
  const code = codeOf(error) ?? 'no answer';
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return new Fault('contract_broken', `${callName(call)} answered with more bytes than are accepted`);
  }
  return new Fault('unreachable', `${call.url.host} could not be reached for ${callName(call)}: ${code}`, {
    cause: error,
    ...(isCertificateProblem(code)
      ? { hint: 'the certificate was not accepted; a private authority goes into the configuration' }
      : {}),
  });
}

function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const code = (at as { code?: unknown }).code;
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
  }
  return undefined;
}

function isCertificateProblem(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|TLS|SSL/.test(code);
}

function hostOf(location: string | null, base: URL): string {
  try {
    return new URL(location ?? '', base).host;
  } catch {
    return 'an unreadable address';
  }
}
