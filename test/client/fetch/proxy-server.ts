import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { endOfFirst } from './end-of-first.js';
import { pem } from './pem.js';

interface Connecting {
  readonly to: string;
  readonly authorization: string | null;
}

export interface ProxyServer {
  /** As `HTTPS_PROXY`. */
  readonly url: string;
  readonly port: number;
  /** What it was asked to connect to. */
  readonly asked: readonly Connecting[];
  /** The error code with which its first client ended, or null after a proper end. */
  readonly ended: Promise<string | null>;
}

export interface ProxyServerOptions {
  readonly scheme?: 'http' | 'https';
  /** What it writes instead of connecting; the connection stays open behind it. */
  readonly answer?: string;
  /** Ends the connection behind `answer`. */
  readonly ends?: boolean;
  /** Writes `answer` again and again, and so never a complete one. */
  readonly repeats?: boolean;
}

/** With TLS 1.3 the system resets a connection whose tickets were not read, whatever a client does. */
const older = { maxVersion: 'TLSv1.2' } as const;

/** Starts a proxy that reaches the server on `port` of this host under every name. */
export async function startProxy(
  port: number,
  { scheme = 'http', answer, ends = false, repeats = false }: ProxyServerOptions = {},
): Promise<ProxyServer> {
  const asked: Connecting[] = [];
  const server =
    scheme === 'http'
      ? createServer()
      : createSecureServer({ cert: pem('loopback.cert'), key: pem('loopback.key'), ...older });
  server.on('connect', (request: { url: string; headers: Record<string, string> }, client: Socket) => {
    asked.push({ to: request.url, authorization: request.headers['proxy-authorization'] ?? null });
    client.on('error', () => {});
    if (answer !== undefined) {
      client.write(answer);
      if (ends) client.end();
      client.on('end', () => client.end()).resume();
      const again = repeats ? setInterval(() => client.write(answer), 20) : undefined;
      return void client.on('close', () => clearInterval(again));
    }
    const behind = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      behind.pipe(client).pipe(behind);
    });
    behind.on('error', () => client.destroy());
    client.on('close', () => behind.destroy());
  });
  const ended = endOfFirst(server, scheme);
  const own = await listen(server);
  return { url: `${scheme}://127.0.0.1:${own}`, port: own, asked, ended };
}

/** Starts the server that is reached through it, as https://other.test. */
export const startOther = (handle: RequestListener): Promise<number> =>
  listen(createSecureServer({ cert: pem('other-host.cert'), key: pem('other-host.key') }, handle));

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => open.add(socket));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
