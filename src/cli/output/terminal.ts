import { Writable } from 'node:stream';
import { printableLines } from '../../domain/printable.js';
import type { OutputStream } from '../io.js';

/**
 * stdout when it is a terminal: escapes control sequences in everything written to it. Every command writes its result
 * through this stream, so no output format has to escape by itself. `guarded` leaves pipes and files unchanged.
 */
export class Terminal extends Writable {
  readonly isTTY = true;
  readonly #stream: OutputStream;
  /** A carriage return at the end of a chunk: its line feed may come with the next chunk. */
  #held = '';

  constructor(stream: OutputStream) {
    super({ decodeStrings: false });
    this.#stream = stream;
  }

  get columns(): number {
    return widthOf(this.#stream);
  }

  /** Writes rosterd's own formatted text, whose external parts are escaped already. */
  styled(text: string): void {
    this.#stream.write(text);
  }

  // Passed on synchronously, so that styled text cannot overtake it.
  override _write(chunk: string | Uint8Array, _encoding: string, done: () => void): void {
    const text = this.#held + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    this.#held = text.endsWith('\r') ? '\r' : '';
    this.#stream.write(printableLines(this.#held === '' ? text : text.slice(0, -1)));
    done();
  }
}

/** A terminal whose size was never set, such as that of `docker exec -t`, has 0 columns. */
export const widthOf = ({ columns = 0 }: OutputStream): number => (columns > 0 ? columns : 80);

export function guarded(stream: OutputStream): OutputStream {
  return stream.isTTY === true && !(stream instanceof Terminal) ? new Terminal(stream) : stream;
}
