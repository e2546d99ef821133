import type { IncomingMessage } from 'node:http';

/**
 * Returns the body of a request; null when its sender closed the connection before the end, as a program does that stops. An
 * error that nothing catches would fail the run, whichever test is running by then.
 */
export async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    return null;
  }
  return Buffer.concat(chunks).toString('utf8');
}
