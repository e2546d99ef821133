import { proxyTo } from './proxy.js';

/** The parameters of a new connection that PgBouncer keeps track of. By default it refuses every other one. */
const accepted = new Set([
  ...['user', 'database', 'application_name', 'client_encoding'],
  ...['datestyle', 'timezone', 'standard_conforming_strings', 'intervalstyle'],
]);

/** A connection pooler in session mode, as far as it judges new connections. Returns the address that leads through it. */
export async function sessionPooler(url: string): Promise<string> {
  const proxy = await proxyTo(url, (near, far) => {
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
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
  return proxy.url;
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
