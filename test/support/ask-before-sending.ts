import { type OutgoingHttpHeaders, request } from 'node:http';

export interface Outcome {
  /** Whether it was told to send its body; it does so then, and not before. */
  readonly continued: boolean;
  readonly status: number | undefined;
}

/** A POST that waits for the word of the other side, as curl does with a large body. */
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
