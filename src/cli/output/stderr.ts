import { Writable } from 'node:stream';
import { printableLines } from '../../domain/printable.js';
import type { OutputStream } from '../io.js';

const clearLine = '\r\u001b[K';
/** The colours of ours and of the log; captured, so that `split` keeps them. */
const colors = new RegExp(`(${'\u001b'}\\[[\\d;]*m)`);

/**
 * stderr as the parts of one command share it: its last line may be drawn over and over, as progress is, and what
 * anybody else says meanwhile, such as the log, comes to stand above it instead of in its middle. A line that is
 * not finished yet keeps the drawn one away until it is.
 */
export class Talk extends Writable {
  readonly #stream: OutputStream;
  #drawn = '';
  #midLine = false;

  constructor(stream: OutputStream) {
    super({ decodeStrings: false });
    this.#stream = stream;
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true;
  }

  get columns(): number {
    return this.#stream.columns ?? 80;
  }

  /** Shows `text` as the last line, in place of what was drawn there before; cut to the terminal. */
  draw(text: string): void {
    this.#drawn = [...text].slice(0, this.columns - 1).join('');
    if (!this.#midLine) this.#stream.write(clearLine + this.#drawn);
  }

  /** Leaves what was drawn where it is; what comes next begins below it. */
  settle(): void {
    if (this.#drawn !== '' && !this.#midLine) this.#stream.write('\n');
    this.#drawn = '';
  }

  // Handed on at once, so that nothing said waits in here when the process ends.
  override _write(chunk: string | Uint8Array, _encoding: string, done: () => void): void {
    const said = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const text = this.isTTY ? harmless(said) : said;
    const above = this.#drawn !== '' && !this.#midLine;
    this.#midLine = !text.endsWith('\n');
    this.#stream.write((above ? clearLine : '') + text + (this.#midLine ? '' : this.#drawn));
    done();
  }
}

/** On a terminal nothing but colours is a command to it, whoever wrote the text. */
function harmless(text: string): string {
  return text
    .split(colors)
    .map((part, at) => (at % 2 === 1 ? part : printableLines(part)))
    .join('');
}
