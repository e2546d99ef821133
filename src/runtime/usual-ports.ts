import { createServer } from 'node:net';

/** How often another program may take a port between the look at it and the start that needs it. */
const attempts = 5;

/**
 * Starts something on the usual loopback ports, each replaced by any free one if it is taken. `start` must leave nothing
 * behind when it fails: if a port is taken in the meantime (EADDRINUSE, also as a cause), it is called again with others.
 */
export async function onUsualPorts<Ports extends Readonly<Record<string, number>>, Started>(
  usual: Ports,
  start: (ports: Ports) => Promise<Started>,
): Promise<Started> {
  for (let left = attempts - 1; ; left -= 1) {
    const free: [string, number][] = [];
    for (const [name, port] of Object.entries(usual)) free.push([name, await freePort(port)]);
    try {
      return await start(Object.fromEntries(free) as Ports);
    } catch (error) {
      if (left === 0 || !isPortTaken(error)) throw error;
    }
  }
}

function isPortTaken(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && error.code === 'EADDRINUSE') || isPortTaken(error.cause);
}

async function freePort(wanted: number): Promise<number> {
  return await probe(wanted).catch(() => probe(0));
}

function probe(port: number): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer();
    server.once('error', failed);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => found(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}
