import { printable } from '../../domain/printable.js';
import type { Clock } from '../../runtime/clock.js';
import type { Io } from '../io.js';
import { type Paint, paintFor, wantsColor } from './color.js';
import { Progress } from './progress.js';
import { blockLines, type Column, fitsReadably, tableLines } from './table.js';
import { Talk } from './talk.js';

/** Results go to stdout, talk to stderr. */
export class Output {
  /** For stdout. */
  readonly paint: Paint;
  /** For stderr. */
  readonly talkPaint: Paint;
  readonly #io: Pick<Io, 'stdout'> & { readonly stderr: Talk };

  constructor(io: Io) {
    this.#io = { stdout: io.stdout, stderr: io.stderr instanceof Talk ? io.stderr : new Talk(io.stderr) };
    this.paint = paintFor(wantsColor(io.stdout, io.env));
    this.talkPaint = paintFor(wantsColor(io.stderr, io.env));
  }

  /** One line of the result, control characters written out; `styled` text is ours and passes as it is. */
  line(text = ''): void {
    this.#io.stdout.write(`${printable(text)}\n`);
  }

  styled(text: string): void {
    this.#io.stdout.write(`${text}\n`);
  }

  /** Indented for people at a terminal, one line for programs behind a pipe. */
  json(value: unknown): void {
    this.#io.stdout.write(`${JSON.stringify(value, null, this.#io.stdout.isTTY === true ? 2 : undefined)}\n`);
  }

  /** A table, or where one would be too narrow to be read, a block of lines for each row. */
  rows(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
    const { isTTY, columns: width = 80 } = this.#io.stdout;
    if (isTTY !== true || fitsReadably(columns, rows, width)) this.table(columns, rows);
    else for (const line of blockLines(columns, rows, width)) this.styled(line);
  }

  /** Fits the terminal; behind a pipe lines are as long as they need, so that grep finds whole ones. */
  table(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
    const width = this.#io.stdout.isTTY === true ? (this.#io.stdout.columns ?? 80) : Number.POSITIVE_INFINITY;
    const [head = '', ...body] = tableLines(columns, rows, width);
    this.styled(this.paint.bold(head));
    for (const line of body) this.styled(line);
  }

  /** Of long work, on stderr. */
  progress(label: string, clock: Clock): Progress {
    return new Progress(label, this.#io.stderr, clock);
  }

  note(text: string): void {
    this.#io.stderr.write(`${lines(text)}\n`);
  }

  warn(text: string): void {
    this.#io.stderr.write(`${this.talkPaint.yellow('warning:')} ${lines(text)}\n`);
  }

  error(text: string): void {
    this.#io.stderr.write(`${this.talkPaint.red('error:')} ${lines(text)}\n`);
  }
}

/** Talk may have several lines; anything else that controls is written out. */
function lines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
