import { closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { Fault } from '../domain/fault.js';

/** A file that a person named, opened to read it in parts. */
export interface NamedFile {
  /** Reads the next bytes into the buffer. Returns their number; 0 at the end. */
  read(into: Buffer): number;
  close(): void;
}

/**
 * Opens a file that a person named, which may be a pipe such as /dev/stdin or that of `<(command)`. Reading a pipe waits for
 * the program that writes to it. Reading a pipe that no program writes to throws `usage`: it would wait for ever, and no
 * signal would end that.
 */
export function openNamedFile(path: string, shownAs = path): NamedFile {
  const isPipe = statSync(path).isFIFO();
  // To open a pipe waits for a writer, too.
  const descriptor = openSync(path, isPipe ? constants.O_RDONLY | constants.O_NONBLOCK : constants.O_RDONLY);
  const close = () => closeSync(descriptor);
  if (!isPipe) return { read: (into) => readSync(descriptor, into), close };
  let hadWriter = false;
  const read = (into: Buffer): number => {
    let count = readWritten(descriptor, into);
    for (; count === null; count = readWritten(descriptor, into)) {
      hadWriter = true;
      pause(10);
    }
    if (count === 0 && !hadWriter) throw unwritten(shownAs);
    hadWriter = true;
    return count;
  };
  return { read, close };
}

/** A file of text that a person named is never nearly as long; a device may have no end. */
const textBytesMax = 64 * 1024 * 1024;

/** Returns the whole text of such a file, without a byte order mark. Throws `usage` for one of more than 64 MB, too. */
export function readNamedFile(path: string, shownAs = path): string {
  const file = openNamedFile(path, shownAs);
  try {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (let count = -1; count !== 0; ) {
      const part = Buffer.allocUnsafe(65_536);
      count = file.read(part);
      parts.push(part.subarray(0, count));
      bytes += count;
      if (bytes > textBytesMax)
        throw new Fault('usage', `${shownAs} is larger than ${textBytesMax / 1024 / 1024} MB`, {
          hint: 'name another file',
        });
    }
    const text = Buffer.concat(parts, bytes).toString('utf8');
    // As `withoutByteOrderMark`, whose file most commands do not load.
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  } finally {
    file.close();
  }
}

/** Returns null while a pipe has a writer and nothing to read. */
function readWritten(descriptor: number, into: Buffer): number | null {
  try {
    return readSync(descriptor, into);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return null;
    throw error;
  }
}

function pause(millis: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis);
}

function unwritten(shownAs: string): Fault {
  return new Fault('usage', `${shownAs} is a pipe that no program writes to`, {
    hint: 'start the program that writes to it first, or name a file',
  });
}
