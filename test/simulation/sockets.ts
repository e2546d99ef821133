import { Agent, type Server as HttpServer, Server } from 'node:http';
import { Duplex } from 'node:stream';

/** One end of a connection in memory. */
class Socket extends Duplex {
  readonly remoteAddress = '127.0.0.1';
  peer: Socket | undefined;
  /** True when the process at this end is dead and sends nothing more. */
  silent: () => boolean = () => false;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.peer !== undefined && !this.peer.destroyed && !this.silent()) this.peer.push(chunk);
    done();
  }

  override _final(done: () => void): void {
    if (this.peer !== undefined && !this.peer.destroyed) this.peer.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.peer !== undefined && !this.peer.destroyed) this.peer.push(null);
    done(error);
  }

  destroySoon(): void {
    if (this.writable) this.end(() => this.destroy());
    else this.destroy();
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** The near end of a connection to a server that listens in memory. */
function connect(server: HttpServer, silent: () => boolean = () => false): Socket {
  const near = new Socket();
  const far = new Socket();
  far.peer = near;
  far.silent = silent;
  near.peer = far;
  far.on('error', () => {});
  server.emit('connection', far);
  return near;
}

export interface HeardAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A connection to a server that listens in memory: raw bytes in, one response out. */
export class Connection {
  readonly answered: Promise<HeardAnswer | null>;
  readonly #near: Socket;

  constructor(server: Server) {
    this.#near = connect(server);
    const chunks: Buffer[] = [];
    this.answered = new Promise((resolve) => {
      const look = (ended: boolean) => {
        const answer = parseAnswer(Buffer.concat(chunks), ended);
        if (answer === undefined) return;
        resolve(answer);
        this.#near.end();
      };
      this.#near.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        look(false);
      });
      this.#near.on('end', () => look(true));
      this.#near.on('close', () => resolve(null));
      this.#near.on('error', () => resolve(null));
    });
  }

  send(bytes: Buffer | string): void {
    if (!this.#near.destroyed && !this.#near.writableEnded) this.#near.write(bytes);
  }

  cut(): void {
    this.#near.destroy();
  }
}

function parseAnswer(bytes: Buffer, ended: boolean): HeardAnswer | null | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return ended ? null : undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const length = Number(headers['content-length'] ?? (ended ? bytes.length - end - 4 : Number.NaN));
  if (!(bytes.length >= end + 4 + length)) return ended ? null : undefined;
  const status = Number(first.split(' ')[1]);
  if (status === 100) return parseAnswer(bytes.subarray(end + 4), ended);
  return { status, headers, body: bytes.toString('utf8', end + 4, end + 4 + length) };
}

export function requestBytes(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Buffer {
  const lines = Object.entries({ host: 'sim', ...headers, 'content-length': Buffer.byteLength(body) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`);
}

/**
 * Makes servers listen in memory: each gets its own port here, and a client passes it bytes. Everything above the
 * socket is the real code, including Node's HTTP parser.
 */
export function captureServers(): {
  readonly ports: ReadonlyMap<number, Server>;
  /** Killed processes close nothing: their listening servers are dropped with the run. */
  forget(): void;
  undo(): void;
} {
  const ports = new Map<number, Server>();
  const { listen } = Server.prototype;
  let port = 40_000;
  Server.prototype.listen = function (this: Server, ...args: unknown[]) {
    port += 1;
    const own = port;
    ports.set(own, this);
    let listening = true;
    Object.defineProperties(this, {
      listening: { get: () => listening },
      address: { value: () => ({ address: '127.0.0.1', port: own, family: 'IPv4' }) },
      closeIdleConnections: { value: () => {} },
      closeAllConnections: { value: () => {} },
      close: {
        value: (done?: () => void) => {
          listening = false;
          ports.delete(own);
          queueMicrotask(() => done?.());
        },
      },
    });
    const done = args.at(-1);
    if (typeof done === 'function') queueMicrotask(done as () => void);
    return this;
  };
  return {
    ports,
    forget: () => ports.clear(),
    undo: () => {
      Server.prototype.listen = listen;
    },
  };
}

export interface Reached {
  readonly server: Server;
  /** True when the process at the other end is dead: its output is dropped. */
  readonly silent: () => boolean;
  /** The connection breaks soon; the other end may or may not have received anything by then. */
  readonly cut: boolean;
}

/**
 * Routes requests of this process through Node's own client to servers in memory; null refuses the connection.
 */
export function routeRequests(reach: (port: number) => Reached | null): () => void {
  const { createConnection } = Agent.prototype;
  Agent.prototype.createConnection = ((options: { readonly port?: number | string }) => {
    const reached = reach(Number(options.port));
    const near = reached === null ? new Socket() : connect(reached.server, reached.silent);
    // Not before the client listens for the error.
    if (reached === null || reached.cut) setImmediate(() => near.destroy(new Error('the connection broke')));
    return near;
  }) as typeof createConnection;
  return () => {
    Agent.prototype.createConnection = createConnection;
  };
}
