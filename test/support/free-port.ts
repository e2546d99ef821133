import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * Returns a port that nothing listens on, for a process that gets it in its configuration. The system gives it to no
 * program that asks for any free port (Linux assigns those from 32768), and this function to none while this
 * process runs, so it stays free until the process starts, and between two starts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
}

/**
 * Returns false when a process that chose its port here has this one. It is marked by the UDP port of the same number,
 * which the system gives back when this process ends.
 */
function reserve(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket
      .once('error', () => socket.close(() => resolve(false)))
      .once('listening', () => resolve(true))
      .bind(port, '127.0.0.1');
    socket.unref();
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
