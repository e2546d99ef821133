import { crc32, createDeflateRaw } from 'node:zlib';
import { Fault } from '../domain/fault.js';

/** One file of an archive. Its size need not be known before it ends. */
export interface ZipEntry {
  readonly name: string;
  readonly pieces: AsyncIterable<string> | Iterable<string>;
}

const localMark = 0x04034b50;
const descriptorMark = 0x08074b50;
const directoryMark = 0x02014b50;
const endMark = 0x06054b50;
/** Sizes follow the data, and names are UTF-8. */
const flags = 0x0808;
const deflated = 8;
const version = 20;
/** 1980-01-01, the first day of the format: equal content gives equal bytes. */
const day = 0x0021;
/** Sizes and positions have 32 bits. */
const sizeMax = 0xffff_ffff;

/**
 * Yields a zip archive piece by piece, in constant memory. Throws `usage` when it grows beyond 4 GB, the limit of the
 * format's basic form, which every reader understands.
 */
export async function* zip(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Uint8Array> {
  const directory: Buffer[] = [];
  let at = 0;
  for await (const { name, pieces } of entries) {
    const title = Buffer.from(name);
    const start = at;
    const local = localHeader(title);
    yield local;
    at += local.length;
    const content = { crc: 0, bytes: 0 };
    let packed = 0;
    for await (const piece of deflate(pieces, content)) {
      packed += piece.length;
      at += piece.length;
      if (at > sizeMax || content.bytes > sizeMax) throw tooLarge();
      yield piece;
    }
    const ends = { crc: content.crc, packed, bytes: content.bytes };
    const after = descriptor(ends);
    yield after;
    at += after.length;
    directory.push(directoryEntry(title, start, ends));
  }
  const listed = Buffer.concat(directory);
  yield listed;
  yield endOfDirectory(directory.length, listed.length, at);
}

/** Text is deflated in blocks of this size. */
const blockCharacters = 64 * 1_024;

async function* deflate(
  pieces: ZipEntry['pieces'],
  content: { crc: number; bytes: number },
): AsyncGenerator<Buffer> {
  const packer = createDeflateRaw();
  const out: Buffer[] = [];
  packer.on('data', (piece: Buffer) => out.push(piece));
  const write = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const block = Buffer.from(text);
      content.crc = crc32(block, content.crc);
      content.bytes += block.length;
      packer.write(block, (error) => (error == null ? resolve() : reject(error)));
    });
  try {
    let text = '';
    for await (const piece of pieces) {
      text += piece;
      if (text.length < blockCharacters) continue;
      await write(text);
      text = '';
      yield* out.splice(0);
    }
    await write(text);
    await new Promise<void>((resolve, reject) => {
      packer.on('end', resolve).on('error', reject);
      packer.end();
    });
    yield* out.splice(0);
  } finally {
    packer.destroy();
  }
}

interface Ends {
  readonly crc: number;
  readonly packed: number;
  readonly bytes: number;
}

function localHeader(name: Buffer): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(localMark, 0);
  header.writeUInt16LE(version, 4);
  header.writeUInt16LE(flags, 6);
  header.writeUInt16LE(deflated, 8);
  header.writeUInt16LE(day, 12);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, name]);
}

function descriptor({ crc, packed, bytes }: Ends): Buffer {
  const after = Buffer.alloc(16);
  after.writeUInt32LE(descriptorMark, 0);
  after.writeUInt32LE(crc, 4);
  after.writeUInt32LE(packed, 8);
  after.writeUInt32LE(bytes, 12);
  return after;
}

function directoryEntry(name: Buffer, start: number, { crc, packed, bytes }: Ends): Buffer {
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(directoryMark, 0);
  entry.writeUInt16LE(version, 4);
  entry.writeUInt16LE(version, 6);
  entry.writeUInt16LE(flags, 8);
  entry.writeUInt16LE(deflated, 10);
  entry.writeUInt16LE(day, 14);
  entry.writeUInt32LE(crc, 16);
  entry.writeUInt32LE(packed, 20);
  entry.writeUInt32LE(bytes, 24);
  entry.writeUInt16LE(name.length, 28);
  entry.writeUInt32LE(start, 42);
  return Buffer.concat([entry, name]);
}

function endOfDirectory(entries: number, bytes: number, at: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(endMark, 0);
  end.writeUInt16LE(entries, 8);
  end.writeUInt16LE(entries, 10);
  end.writeUInt32LE(bytes, 12);
  end.writeUInt32LE(at, 16);
  return end;
}

function tooLarge(): Fault {
  return new Fault('usage', 'the workbook is larger than 4 GB; no file was written', {
    hint: '--format csv, jsonl or parquet, or fewer rows with --source or --company',
  });
}
