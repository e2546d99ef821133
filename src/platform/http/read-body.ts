import type { IncomingMessage, ServerResponse } from 'node:http';

const bodyBytesMax = 1024 * 1024;

/** The whole body, or null when it is larger than 1 MB; the rest is then read and thrown away so that the answer arrives. */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<Buffer | null> {
  // Who asks before sending is told before sending.
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
