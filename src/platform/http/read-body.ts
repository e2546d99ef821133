import type { IncomingMessage, ServerResponse } from 'node:http';

const bodyBytesMax = 1024 * 1024;

/** Returns the body, or null when it exceeds 1 MB. The excess is read and discarded so that the client gets the response. */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<Buffer | null> {
  // A client that sends `Expect` is rejected before it sends a body that is too large.
  if (request.headers.expect !== undefined) {
    if (Number(request.headers['content-length']) > bodyBytesMax) return null;
    response.writeContinue();
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= bodyBytesMax) chunks.push(chunk);
    else if (bytes > 8 * bodyBytesMax) request.destroy();
  }
  return bytes > bodyBytesMax ? null : Buffer.concat(chunks);
}
