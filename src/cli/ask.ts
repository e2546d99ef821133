import { createInterface } from 'node:readline/promises';
import { Fault } from '../domain/fault.js';
import type { Io } from './io.js';

/** One line from whoever is at the other end of stdin; the question goes to stderr, as talk does. */
export async function askLine(io: Io, question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({
    input: io.stdin,
    output: io.stderr,
    terminal: false,
  });
  const gone = new AbortController();
  let answered = false;
  lines.once('close', () => gone.abort());
  try {
    const answer = await lines.question(question, { signal: AbortSignal.any([signal, gone.signal]) });
    answered = true;
    return answer;
  } catch (error) {
    if (signal.aborted) throw new Fault('stopped', 'stopped before there was an answer');
    if (gone.signal.aborted) {
      throw new Fault('reauthorize', 'nobody answered: stdin has ended', {
        hint: 'run it at a terminal, or give the answer on stdin',
      });
    }
    throw error;
  } finally {
    // What is said next starts on a line of its own; only at a terminal the answer's Enter has seen to that.
    if (!(answered && io.stdin.isTTY === true)) io.stderr.write('\n');
    lines.close();
  }
}
