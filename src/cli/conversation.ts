import { createInterface, type Interface } from 'node:readline';
import { Fault } from '../domain/fault.js';
import { printable } from '../domain/printable.js';
import type { Io } from './io.js';

/** How often one question is put again before we take it that nobody is reading. */
const triesMax = 5;

/** What is wrong with an answer, as the end of "expected …"; undefined when nothing is. */
export type Objection = (answer: string) => string | undefined;

/**
 * Several questions and their answers, line by line. One reader for all of them: answers that were typed ahead,
 * or piped in, are kept for the questions still to come. Questions go to stderr, as talk does.
 */
export class Conversation {
  readonly #reader: Interface;
  readonly #lines: AsyncIterator<string>;

  constructor(
    private readonly io: Io,
    private readonly signal: AbortSignal,
  ) {
    this.#reader = createInterface({ input: io.stdin, terminal: false, signal });
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  /** An empty line takes `fallback`. Throws `stopped` on a signal, `usage` when stdin ends or answers stay wrong. */
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
    throw new Fault('usage', `no answer to "${question}" could be used`, {
      hint: 'rosterd help init, which lists the flags that answer everything',
    });
  }

  close(): void {
    this.#reader.close();
  }

  async #next(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (this.signal.aborted) throw new Fault('stopped', 'stopped before every question was answered');
    if (done !== true) return value;
    throw new Fault('usage', 'stdin ended before every question was answered', {
      hint: 'rosterd help init, which lists the flags that answer everything',
    });
  }
}
