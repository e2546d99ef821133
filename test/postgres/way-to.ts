import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * A proxy to a database that can swallow the traffic of a connection: it stays open, and nothing comes through.
 */
export async function wayTo(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const streams: { readonly near: Socket; readonly far: Socket }[] = [];
  const server = createServer((near) => {
    const far = connect(Number(port || 5432), hostname);
    streams.push({ near, far });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  const swallow = () => {
    for (const { near, far } of streams) {
      near.unpipe(far);
      far.unpipe(near);
      near.pause();
      far.pause();
    }
  };
  /** From now on, new connections are refused. */
  const refuse = () => void server.close();
  return { url: through.href, swallow, refuse };
}
