import { type OutgoingHttpHeaders, request } from 'node:http';

export interface Outcome {
  /** Whether the server asked for the body; it is sent only then. */
  readonly continued: boolean;
  readonly status: number | undefined;
}

/** A POST with `Expect: 100-continue`, as curl sends a large body. */
export function askBeforeSending(
  url: string,
  headers: OutgoingHttpHeaders,
  body: string | Buffer,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    let continued = false;
    const asked = request(url, {
      method: 'POST',
      agent: false,
      headers: { 'content-length': Buffer.byteLength(body), ...headers, expect: '100-continue' },
    });
    asked.on('continue', () => {
      continued = true;
      asked.end(body);
    });
    asked.on('response', (response) => {
      resolve({ continued, status: response.statusCode });
      asked.destroy();
    });
    asked.on('error', reject);
    asked.flushHeaders();
  });
}
