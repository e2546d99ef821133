import { createInterface, type Interface } from 'node:readline';
import { Fault } from '../domain/fault.js';
import { printable } from '../domain/printable.js';
import type { Io } from './io.js';

/** How often to ask one question before giving up. */
const triesMax = 5;

/** Returns what was expected instead of the answer, as the end of "expected …"; undefined for a valid answer. */
export type Objection = (answer: string) => string | undefined;

/**
 * Asks several questions and reads one line for each. All questions share one reader, so that answers typed ahead or
 * piped in are kept for later questions. Questions go to stderr.
 */
export class Conversation {
  readonly #reader: Interface;
  readonly #lines: AsyncIterator<string>;

  constructor(
    private readonly io: Io,
    private readonly signal: AbortSignal,
    /** What to do when a person cannot answer: the end of "Try: …". */
    private readonly hint: string,
  ) {
    this.#reader = createInterface({ input: io.stdin, terminal: false, signal });
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  /**
   * Returns the answer, or `fallback` for an empty line. Throws `stopped` on a signal, and `usage` when stdin ends or
   * after too many invalid answers.
   */
  async ask(question: string, fallback: string | null, objection: Objection): Promise<string> {
    const offer = fallback === null ? '' : ` [${fallback === '' ? 'none' : fallback}]`;
    for (let tries = 0; tries < triesMax; tries += 1) {
      this.io.stderr.write(`${question}${offer}: `);
      const typed = (await this.#next()).trim();
      const answer = typed === '' && fallback !== null ? fallback : typed;
      const wanted = objection(answer);
      if (wanted === undefined) return answer;
      this.io.stderr.write(`  ${printable(`expected ${wanted}`)}\n`);
    }
    throw new Fault('usage', `no valid answer to "${question}"`, { hint: this.hint });
  }

  close(): void {
    this.#reader.close();
  }

  async #next(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (this.signal.aborted) throw new Fault('stopped', 'stopped before every question was answered');
    if (done !== true) return value;
    throw new Fault('usage', 'stdin ended before every question was answered', { hint: this.hint });
  }
}
