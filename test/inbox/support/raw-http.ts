import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';

export const secret = 'whsec_test_0001';

export function signed(body: string | Buffer, atSeconds: number, key = secret): string {
  const v1 = createHmac('sha256', key).update(`${atSeconds}.`).update(body).digest('hex');
  return `t=${atSeconds},v1=${v1}`;
}

/** A raw client: sends bytes and collects the bytes received until the socket closes. */
export class RawClient {
  readonly #socket: Socket;
  readonly opened = performance.now();
  #received = '';
  readonly closed: Promise<string>;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1');
    });
    this.closed = new Promise((resolve) => {
      // A reset counts as a response: the server would not read on.
      this.#socket.on('error', () => {});
      this.#socket.on('close', () => resolve(this.#received));
    });
  }

  send(text: string | Buffer): this {
    this.#socket.write(text);
    return this;
  }

  cut(): void {
    this.#socket.destroy();
  }
}

export const head = (
  fields: Readonly<Record<string, string | number>>,
  path = '/webhooks',
  method = 'POST',
) =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');
