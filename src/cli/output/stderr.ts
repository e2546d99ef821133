import { Writable } from 'node:stream';
import { printableLines } from '../../domain/printable.js';
import type { OutputStream } from '../io.js';
import { widthOf } from './terminal.js';

const clearLine = '\r\u001b[K';
/** Colour sequences; captured, so that `split` keeps them. */
const colors = new RegExp(`(${'\u001b'}\\[[\\d;]*m)`);

/**
 * stderr, shared by all parts of a command. Its last line may be redrawn, for progress. Other output, such as the log,
 * is printed above that line. While another writer's line is unfinished, the redrawn line is hidden.
 */
export class Stderr extends Writable {
  readonly #stream: OutputStream;
  #drawn = '';
  #midLine = false;

  /** Whether the last line can be drawn again: on a terminal that knows control sequences, so not on one of `TERM=dumb`. */
  readonly redraws: boolean;

  constructor(stream: OutputStream, env: Readonly<Record<string, string | undefined>> = {}) {
    super({ decodeStrings: false });
    this.#stream = stream;
    this.redraws = stream.isTTY === true && env.TERM !== 'dumb';
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true;
  }

  get columns(): number {
    return widthOf(this.#stream);
  }

  /** Shows `text` as the last line in place of the previous drawing, cut to the width of the terminal. */
  draw(text: string): void {
    this.#drawn = [...text].slice(0, this.columns - 1).join('');
    if (!this.#midLine) this.#stream.write(clearLine + this.#drawn);
  }

  /** Keeps the drawn line on the screen; later output starts below it. */
  settle(): void {
    if (this.#drawn !== '' && !this.#midLine) this.#stream.write('\n');
    this.#drawn = '';
  }

  // Passed on synchronously, so that no output is lost when the process ends.
  override _write(chunk: string | Uint8Array, _encoding: string, done: () => void): void {
    const written = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const text = this.isTTY ? withoutControls(written) : written;
    const above = this.#drawn !== '' && !this.#midLine;
    this.#midLine = !text.endsWith('\n');
    this.#stream.write((above ? clearLine : '') + text + (this.#midLine ? '' : this.#drawn));
    done();
  }
}

/** Escapes every control sequence except colours, so that no text can control the terminal. */
function withoutControls(text: string): string {
  return text
    .split(colors)
    .map((part, at) => (at % 2 === 1 ? part : printableLines(part)))
    .join('');
}
