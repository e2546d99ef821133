import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** The parameters of a new connection that PgBouncer keeps track of. By default it refuses every other one. */
const accepted = new Set([
  ...['user', 'database', 'application_name', 'client_encoding'],
  ...['datestyle', 'timezone', 'standard_conforming_strings', 'intervalstyle'],
]);

/** A connection pooler in session mode, as far as it judges new connections. Returns the address that leads through it. */
export async function sessionPooler(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port || 5432), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    // The driver sends it in one piece.
    near.once('data', (startup) => {
      const refused = parametersIn(startup).find((name) => !accepted.has(name));
      if (refused !== undefined) {
        near.end(refusal(`unsupported startup parameter: ${refused}`));
        return;
      }
      far.write(startup);
      near.pipe(far).pipe(near);
    });
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
  return through.href;
}

/** Names and values follow the length and the version of the protocol, each ended by a zero. */
function parametersIn(startup: Buffer): readonly string[] {
  const words = startup.toString('utf8', 8).split('\0');
  return words.filter((word, index) => index % 2 === 0 && word !== '');
}

function refusal(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
