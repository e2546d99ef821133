import type { Readable, Writable } from 'node:stream';
import { Fault } from '../domain/fault.js';
import type { ServerParts } from './server.js';

export interface Streams {
  readonly stdin: Readable;
  /** Gets messages of the protocol and nothing else. */
  readonly stdout: Writable;
}

/** Loads the SDK when it is called, so that no other command does. */
const loadProtocol = () => Promise.all([import('./server.js'), import('@modelcontextprotocol/server/stdio')]);

/**
 * Serves an assistant until it closes stdin, stdout breaks or `signal` fires. Throws `usage` when the package of the
 * protocol is not installed.
 */
export async function serveAssistant(
  parts: ServerParts,
  { stdin, stdout }: Streams,
  signal: AbortSignal,
  load: typeof loadProtocol = loadProtocol,
): Promise<void> {
  const [{ createAssistantServer }, { serveStdio, StdioServerTransport }] = await load().catch(
    (error: unknown) => {
      throw isMissing(error) ? notInstalled(error) : error;
    },
  );
  const { logger, identity } = parts;
  if (identity) logger.warn({}, 'the assistant may read names, emails, addresses and messages');
  const transport = new StdioServerTransport(stdin, stdout);
  const handle = serveStdio(() => createAssistantServer(parts), {
    transport,
    onerror: (error) => logger.warn({ error }, 'a message of the assistant could not be handled'),
  });
  await new Promise<void>((resolve) => {
    const closed = transport.onclose;
    transport.onclose = () => {
      closed?.();
      resolve();
    };
    stdin.once('end', resolve);
    stdin.once('close', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  await handle.close();
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND' &&
    error.message.includes('@modelcontextprotocol/')
  );
}

const notInstalled = (cause: unknown): Fault =>
  new Fault('usage', 'assistants need the package @modelcontextprotocol/server, which is not installed', {
    hint: 'npm install @modelcontextprotocol/server',
    cause,
  });
