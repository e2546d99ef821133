import { printable } from '../../domain/printable.js';
import type { Clock } from '../../runtime/clock.js';
import type { Io } from '../io.js';
import { type Paint, paintFor, wantsColor } from './color.js';
import { Progress } from './progress.js';
import { Stderr } from './stderr.js';
import { blockLayout, type Column, fitsReadably, tableLayout } from './table.js';
import { guarded, Terminal } from './terminal.js';

/** Prints results to stdout, and notes, warnings and errors to stderr. */
export class Output {
  /** For stdout. */
  readonly paint: Paint;
  /** For stderr. */
  readonly talkPaint: Paint;
  /** Completes the commands in a note that says what to type. */
  advice: (note: string) => string = (note) => note;
  readonly #io: Pick<Io, 'stdout'> & { readonly stderr: Stderr };

  constructor(io: Io) {
    this.#io = {
      stdout: guarded(io.stdout),
      stderr: io.stderr instanceof Stderr ? io.stderr : new Stderr(io.stderr, io.env),
    };
    this.paint = paintFor(wantsColor(io.stdout, io.env));
    this.talkPaint = paintFor(wantsColor(io.stderr, io.env));
  }

  /** Prints one line of the result with control characters escaped. `styled` prints text that is already safe. */
  line(text = ''): void {
    this.#io.stdout.write(`${printable(text)}\n`);
  }

  styled(text: string): void {
    const { stdout } = this.#io;
    if (stdout instanceof Terminal) stdout.styled(`${text}\n`);
    else stdout.write(`${text}\n`);
  }

  /** Indented for people at a terminal, one line for programs behind a pipe. A bigint becomes text, as in `query`. */
  json(value: unknown): void {
    const exact = (_: string, one: unknown) => (typeof one === 'bigint' ? String(one) : one);
    this.#io.stdout.write(
      `${JSON.stringify(value, exact, this.#io.stdout.isTTY === true ? 2 : undefined)}\n`,
    );
  }

  /** Prints a table, or one block of lines per row where the table's columns would be too narrow to read. */
  rows(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
    const lines = this.layout(columns, rows);
    for (const [index, row] of rows.entries()) for (const line of lines(row, index)) this.styled(line);
  }

  /** Prints the header of `rows` and returns a function for the lines of each row: for results that do not fit in memory. */
  layout(
    columns: readonly Column[],
    first: readonly (readonly string[])[],
  ): (row: readonly string[], index: number) => readonly string[] {
    const { isTTY, columns: width = 80 } = this.#io.stdout;
    return isTTY !== true || fitsReadably(columns, first, width)
      ? this.#tableLayout(columns, first)
      : blockLayout(columns, width);
  }

  /** As `rows`. In a pipe, lines never wrap, so that grep finds whole lines. */
  table(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
    this.rows(columns, rows);
  }

  #tableLayout(columns: readonly Column[], rows: readonly (readonly string[])[]) {
    const width = this.#io.stdout.isTTY === true ? (this.#io.stdout.columns ?? 80) : Number.POSITIVE_INFINITY;
    const { head, lines } = tableLayout(columns, rows, width);
    const [first = '', ...rest] = head;
    this.styled(this.paint.bold(first));
    for (const line of rest) this.styled(line);
    return lines;
  }

  /** Returns the progress display for a long task, on stderr. */
  progress(label: string, clock: Clock): Progress {
    return new Progress(label, this.#io.stderr, clock);
  }

  note(text: string): void {
    this.#io.stderr.write(`${lines(this.advice(text))}\n`);
  }

  warn(text: string): void {
    this.#io.stderr.write(`${this.talkPaint.yellow('warning:')} ${lines(text)}\n`);
  }

  error(text: string): void {
    this.#io.stderr.write(`${this.talkPaint.red('error:')} ${lines(text)}\n`);
  }
}

/** Keeps line breaks and escapes every other control character. */
function lines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
