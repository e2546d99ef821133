import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const given = new Set<number>();

/**
 * Returns a port that nothing listens on, for a process that gets it in its configuration. The system gives it to no
 * program that asks for any free port (Linux assigns those from 32768), so it stays free until the process starts, and
 * between two starts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
