import { Writable } from 'node:stream';
import { printableLines } from '../../domain/printable.js';
import type { OutputStream } from '../io.js';

/**
 * stdout where it is a terminal: nothing written to it reaches the screen as a command to the screen. Every command
 * writes its result through here, so that no form of output has to remember it. A pipe and a file get what was written,
 * byte for byte; `guarded` leaves them alone.
 */
export class Terminal extends Writable {
  readonly isTTY = true;
  readonly #stream: OutputStream;
  /** Of a line end, the second half may come with the next piece. */
  #held = '';

  constructor(stream: OutputStream) {
    super({ decodeStrings: false });
    this.#stream = stream;
  }

  get columns(): number {
    return this.#stream.columns ?? 80;
  }

  /** Text that was set in type by us, whose parts from elsewhere are printable already. */
  styled(text: string): void {
    this.#stream.write(text);
  }

  // Handed on at once: a terminal takes what it is given, and styled text must not overtake it.
  override _write(chunk: string | Uint8Array, _encoding: string, done: () => void): void {
    const text = this.#held + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    this.#held = text.endsWith('\r') ? '\r' : '';
    this.#stream.write(printableLines(this.#held === '' ? text : text.slice(0, -1)));
    done();
  }
}

export function guarded(stream: OutputStream): OutputStream {
  return stream.isTTY === true && !(stream instanceof Terminal) ? new Terminal(stream) : stream;
}
