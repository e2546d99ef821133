import { createInterface } from 'node:readline/promises';
import { Fault } from '../domain/fault.js';
import type { Io } from './io.js';

/**
 * Prints the question to stderr and returns one line read from stdin. Throws `stopped` when `signal` aborts and
 * `reauthorize` when stdin ends first.
 */
export async function askLine(io: Io, question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({
    input: io.stdin,
    output: io.stderr,
    terminal: false,
  });
  const inputEnded = new AbortController();
  let answered = false;
  lines.once('close', () => inputEnded.abort());
  try {
    const answer = await lines.question(question, { signal: AbortSignal.any([signal, inputEnded.signal]) });
    answered = true;
    return answer;
  } catch (error) {
    if (signal.aborted) throw new Fault('stopped', 'stopped before the question was answered');
    if (inputEnded.signal.aborted) {
      throw new Fault('reauthorize', 'no answer: stdin has ended', {
        hint: 'run it at a terminal, or give the answer on stdin',
      });
    }
    throw error;
  } finally {
    // Start the next message on a new line. At a terminal, the Enter of the answer has already done that.
    if (!(answered && io.stdin.isTTY === true)) io.stderr.write('\n');
    lines.close();
  }
}
