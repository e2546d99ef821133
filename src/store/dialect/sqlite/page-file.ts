import { fstatSync, fsyncSync, readSync, writeSync } from 'node:fs';
import { type Layout, readTreePage } from './page-layout.js';

/** The file cannot be walked: it is damaged, or uses a feature of SQLite that rosterd does not use. */
export class Unwalkable extends Error {}

/** SQLite never uses the page at this offset: its locks are there. */
const lockOffset = 0x4000_0000;
/** Below this number, the first byte of a page that is no b-tree page cannot be the one of a b-tree page. */
const pagesMax = 2 ** 25;

const zeros = Buffer.alloc(65_536);

/** So many ranges are written before the disk has to have them: commits of others wait for the disk meanwhile. */
const unsyncedMax = 256;

/**
 * The main file of a database, outside of SQLite. Overwrites bytes that belong to nothing with zeros. Requires that no
 * other process writes to the file meanwhile: see overwrite-unused.ts. Other processes may read it: SQLite ignores those bytes.
 */
export class PageFile {
  readonly #descriptor: number;
  readonly #layout: Layout;
  readonly #pageCount: number;
  readonly #page: Buffer;
  readonly #fsync: (descriptor: number) => void;
  #unsynced = 0;

  /** Throws `Unwalkable`. */
  constructor(descriptor: number, fsync: (descriptor: number) => void = fsyncSync) {
    const header = Buffer.alloc(100);
    if (readSync(descriptor, header, 0, 100, 0) < 100) throw new Unwalkable('the header is missing');
    const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
    this.#descriptor = descriptor;
    this.#fsync = fsync;
    this.#layout = { pageSize, usable: pageSize - header.readUInt8(20) };
    this.#pageCount = header.readUInt32BE(28);
    this.#page = Buffer.alloc(pageSize);
    const isVacuumed = header.readUInt32BE(52) !== 0;
    if (isVacuumed || this.#pageCount >= pagesMax) throw new Unwalkable('the file has pages of another kind');
  }

  get pageSize(): number {
    return this.#layout.pageSize;
  }

  /**
   * Overwrites all unused bytes of the file: in the pages of the trees that begin at `roots`, behind long values, in free
   * pages and behind the last page. Throws `Unwalkable` when it meets a page twice or not at all.
   */
  overwriteAll(roots: readonly number[]): void {
    const seen = new Uint8Array(this.#pageCount + 1);
    const visit = (pageNo: number) => {
      if (pageNo < 1 || pageNo > this.#pageCount || seen[pageNo] === 1)
        throw new Unwalkable(`page ${pageNo} is used twice or does not exist`);
      seen[pageNo] = 1;
      return this.#read(pageNo);
    };
    const waiting = [1, ...roots];
    for (let pageNo = waiting.pop(); pageNo !== undefined; pageNo = waiting.pop()) {
      const tree = readTreePage(visit(pageNo), pageNo, this.#layout);
      if (tree === null) throw new Unwalkable(`page ${pageNo} is not part of a tree`);
      this.#overwrite(pageNo, tree.unused);
      for (const child of tree.children) waiting.push(child);
      for (const { page, bytes } of tree.overflow) this.#overwriteBehind(page, bytes, visit);
    }
    this.#overwriteFree(visit);
    const lockPage = lockOffset / this.#layout.pageSize + 1;
    for (let pageNo = 1; pageNo <= this.#pageCount; pageNo += 1)
      if (seen[pageNo] === 0 && pageNo !== lockPage)
        throw new Unwalkable(`page ${pageNo} belongs to nothing`);
    this.#overwriteTail();
  }

  /** Overwrites the unused bytes of these pages, if they are pages of a tree. */
  overwrite(pageNos: Iterable<number>): void {
    for (const pageNo of pageNos) {
      if (pageNo > this.#pageCount) continue;
      const tree = readTreePage(this.#read(pageNo), pageNo, this.#layout);
      if (tree !== null) this.#overwrite(pageNo, tree.unused);
    }
  }

  /** Waits until the disk has the zeros. */
  sync(): void {
    this.#fsync(this.#descriptor);
    this.#unsynced = 0;
  }

  /** Overwrites what follows the end of a long value in its last page. */
  #overwriteBehind(first: number, bytes: number, visit: (pageNo: number) => Buffer): void {
    const most = this.#layout.usable - 4;
    for (let pageNo = first, left = bytes; left > 0; left -= most) {
      const next = visit(pageNo).readUInt32BE(0);
      if (left < most) this.#overwrite(pageNo, [4 + left, this.#layout.usable]);
      pageNo = next;
    }
  }

  /** Each trunk of the list of free pages names the next trunk and a number of free pages. */
  #overwriteFree(visit: (pageNo: number) => Buffer): void {
    const header = this.#read(1);
    for (let trunk = header.readUInt32BE(32); trunk !== 0; ) {
      const page = visit(trunk);
      const next = page.readUInt32BE(0);
      const count = page.readUInt32BE(4);
      const used = 8 + 4 * count;
      if (used > this.#layout.usable) throw new Unwalkable(`page ${trunk} lists too many free pages`);
      const free = Array.from({ length: count }, (_, n) => page.readUInt32BE(8 + 4 * n));
      this.#overwrite(trunk, [used, this.#layout.pageSize]);
      for (const pageNo of free) {
        visit(pageNo);
        this.#overwrite(pageNo, [0, this.#layout.pageSize]);
      }
      trunk = next;
    }
  }

  #overwriteTail(): void {
    const { size } = fstatSync(this.#descriptor);
    for (let at = this.#pageCount * this.#layout.pageSize; at < size; at += zeros.length)
      this.#writeZeros(Math.min(zeros.length, size - at), at);
  }

  #read(pageNo: number): Buffer {
    const { pageSize } = this.#layout;
    const read = readSync(this.#descriptor, this.#page, 0, pageSize, (pageNo - 1) * pageSize);
    if (read < pageSize) throw new Unwalkable(`page ${pageNo} is cut off`);
    return this.#page;
  }

  /** Writes zeros into these ranges of the page that was read last, except where they are zeros already. */
  #overwrite(pageNo: number, ranges: readonly number[]): void {
    for (let n = 0; n < ranges.length; n += 2) {
      const from = ranges[n] ?? 0;
      const to = ranges[n + 1] ?? 0;
      if (this.#page.compare(zeros, 0, to - from, from, to) === 0) continue;
      this.#writeZeros(to - from, (pageNo - 1) * this.#layout.pageSize + from);
    }
  }

  #writeZeros(length: number, at: number): void {
    writeSync(this.#descriptor, zeros, 0, length, at);
    this.#unsynced += 1;
    if (this.#unsynced >= unsyncedMax) this.sync();
  }
}
