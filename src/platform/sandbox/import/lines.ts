import { statSync } from 'node:fs';
import { Fault } from '../../../domain/fault.js';
import { openNamedFile } from '../../../runtime/named-file.js';

export interface Line {
  /** The first line is number 1. */
  readonly number: number;
  readonly text: string;
}

const newline = 0x0a;
const chunkBytes = 1 << 20;
/** No line of a world is nearly as long. */
const lineBytesMax = 1 << 20;

/** Yields the lines of a file that are not blank, reading a part of it at a time. Throws `usage` if it cannot be read. */
export function* linesOf(file: string): Generator<Line> {
  const opened = attempt(file, () => openNamedFile(file, `--import: ${file}`));
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    let rest: Buffer = Buffer.alloc(0);
    let number = 0;
    for (let read = -1; read !== 0; ) {
      read = attempt(file, () => opened.read(chunk));
      const bytes = Buffer.concat([rest, chunk.subarray(0, read)]);
      const end = read === 0 ? bytes.length : bytes.lastIndexOf(newline) + 1;
      rest = bytes.subarray(end);
      if (rest.length > lineBytesMax)
        throw new Fault(
          'usage',
          `--import: ${file} line ${number + 1}: is longer than ${lineBytesMax} bytes`,
          {
            hint: 'The file has one JSON object a line.',
          },
        );
      const lines = bytes.toString('utf8', 0, end).split('\n');
      // What follows the last newline is the empty text.
      if (read !== 0) lines.pop();
      for (const line of lines) {
        number += 1;
        const text = number === 1 ? line.replace(/^\uFEFF/, '') : line;
        if (text.trim() !== '') yield { number, text };
      }
    }
  } finally {
    opened.close();
  }
}

/** Returns the size of a file. Throws `usage` if it cannot be read. */
export const bytesOf = (file: string): number => attempt(file, () => statSync(file).size);

function attempt<Value>(file: string, act: () => Value): Value {
  try {
    return act();
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw new Fault('usage', `--import: ${file} cannot be read (${code})`, {
      hint: 'Name a file of JSON Lines; docs/sandbox.md describes it.',
      cause,
    });
  }
}
