import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { observedAt } from './feed.js';

/** The signing secret of every benchmark. */
export const secret = 'whsec_benchbenchbenchbenchbenchbench';

/** Returns the complete bytes of a signed HTTP request that announces a change. */
export function signedRequest(url: URL, event: string, company: string, investment: string): Buffer {
  const body = JSON.stringify({
    id: event,
    event: 'investment.changed',
    created_at: observedAt,
    data: { id: investment, company, observed_at: observedAt },
  });
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex');
  return Buffer.from(
    `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nservice-signature: t=${t},v1=${v1}\r\n\r\n${body}`,
  );
}

/**
 * Sends prepared requests over connections that it keeps alive, one request at a time on each. It costs its process
 * so little that the receiver is what is measured. Opens another connection whenever all are in use.
 */
export class Deliverer {
  readonly #idle: Connection[] = [];
  readonly #open = new Set<Connection>();

  constructor(readonly url: URL) {}

  /** Returns the status of the response. Rejects when the connection closes before it is complete. */
  async send(request: Buffer): Promise<number> {
    const connection = this.#idle.pop() ?? this.#connect();
    const status = await connection.exchange(request);
    this.#idle.push(connection);
    return status;
  }

  close(): void {
    for (const connection of this.#open) connection.socket.destroy();
  }

  #connect(): Connection {
    const connection = new Connection(connect(Number(this.url.port), this.url.hostname));
    this.#open.add(connection);
    connection.socket.once('close', () => {
      this.#open.delete(connection);
      const at = this.#idle.indexOf(connection);
      if (at >= 0) this.#idle.splice(at, 1);
    });
    return connection;
  }
}

class Connection {
  #text = '';
  #waiting: { readonly resolve: (status: number) => void; readonly reject: (error: Error) => void } | null =
    null;

  constructor(readonly socket: Socket) {
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (part: string) => {
      this.#text += part;
      const status = statusOf(this.#text);
      if (status === null) return;
      this.#text = '';
      this.#waiting?.resolve(status);
      this.#waiting = null;
    });
    // 'close' follows.
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#waiting?.reject(new Error('the receiver closed a connection before its response was complete'));
      this.#waiting = null;
    });
  }

  exchange(request: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.socket.write(request);
    });
  }
}

/** Returns the status of a complete response with a declared length, or null while some of it is missing. */
export function statusOf(text: string): number | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const length = /^content-length: *(\d+)/im.exec(text.slice(0, end))?.[1] ?? '0';
  return text.length - end - 4 < Number(length) ? null : Number(text.slice(9, 12));
}
