/*
 * The layout of a page of a b-tree, as far as needed to find the bytes that belong to nothing:
 * https://www.sqlite.org/fileformat.html#b_tree_pages
 */

export interface Layout {
  readonly pageSize: number;
  /** The page size without the bytes that an extension reserves at the end of each page. */
  readonly usable: number;
}

export interface TreePage {
  /** Offsets of unused bytes in pairs: from, to. */
  readonly unused: readonly number[];
  readonly children: readonly number[];
  /** The rest of payloads that are larger than a page: the first page of each, and its length in bytes. */
  readonly overflow: readonly { readonly page: number; readonly bytes: number }[];
}

const kinds = { interiorIndex: 2, interiorTable: 5, leafIndex: 10, leafTable: 13 } as const;

const leafHeaderBytes = 8;
/** The header of an interior page also contains the number of its right-most child. */
const interiorHeaderBytes = 12;
const headerBytesOf: Readonly<Record<number, number>> = {
  [kinds.interiorIndex]: interiorHeaderBytes,
  [kinds.interiorTable]: interiorHeaderBytes,
  [kinds.leafIndex]: leafHeaderBytes,
  [kinds.leafTable]: leafHeaderBytes,
};

/** A freed cell is at least this large: it contains the offset of the next free block and its own size. */
const blockHeaderBytes = 4;
const fileHeaderBytes = 100;

/**
 * Returns what a page of a b-tree contains, or null if it is none. Every byte of the page must be part of exactly one
 * cell, free block or gap, so a damaged page is not taken for a sound one. Left out are fragments: the up to three bytes
 * between two cells that are too small for a free block.
 */
export function readTreePage(page: Buffer, pageNo: number, { usable }: Layout): TreePage | null {
  const header = pageNo === 1 ? fileHeaderBytes : 0;
  const kind = page.readUInt8(header);
  const headerBytes = headerBytesOf[kind];
  if (headerBytes === undefined) return null;
  const isLeaf = headerBytes === leafHeaderBytes;
  const count = page.readUInt16BE(header + 3);
  const content = page.readUInt16BE(header + 5) || 65_536;
  const pointers = header + headerBytes;
  const gap = pointers + 2 * count;
  if (gap > content || content > usable) return null;
  const unused = [gap, content];
  const freed = freeBlocks(page, page.readUInt16BE(header + 1), content, usable, unused);
  if (freed === null) return null;
  let accounted = content + page.readUInt8(header + 7) + freed;
  const children = isLeaf ? [] : [page.readUInt32BE(header + 8)];
  const overflow: { page: number; bytes: number }[] = [];
  for (let n = 0; n < count; n += 1) {
    const at = page.readUInt16BE(pointers + 2 * n);
    if (at < content || at + blockHeaderBytes > usable) return null;
    if (!isLeaf) children.push(page.readUInt32BE(at));
    const end =
      kind === kinds.interiorTable ? afterVarint(page, at + 4) : payloadEnd(page, at, kind, usable, overflow);
    if (end > usable) return null;
    accounted += Math.max(end - at, blockHeaderBytes);
  }
  return accounted === usable ? { unused, children, overflow } : null;
}

/** Adds the unused bytes of each free block to `unused`. Returns the size of all blocks; null if one is damaged. */
function freeBlocks(
  page: Buffer,
  first: number,
  content: number,
  usable: number,
  unused: number[],
): number | null {
  let total = 0;
  for (let at = first, after = content; at !== 0; at = page.readUInt16BE(at)) {
    if (at < after || at + blockHeaderBytes > usable) return null;
    const size = page.readUInt16BE(at + 2);
    after = at + size;
    if (size < blockHeaderBytes || after > usable) return null;
    unused.push(at + blockHeaderBytes, after);
    total += size;
  }
  return total;
}

/** Returns where a cell with a payload ends. Adds the part of the payload that is stored elsewhere to `overflow`. */
function payloadEnd(
  page: Buffer,
  cell: number,
  kind: number,
  usable: number,
  overflow: { page: number; bytes: number }[],
): number {
  const start = kind === kinds.interiorIndex ? cell + 4 : cell;
  const payload = varint(page, start);
  const keyless = afterVarint(page, start);
  const at = kind === kinds.leafTable ? afterVarint(page, keyless) : keyless;
  const most = kind === kinds.leafTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  if (payload <= most) return at + payload;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const fitting = least + ((payload - least) % (usable - 4));
  const local = fitting <= most ? fitting : least;
  if (at + local + 4 <= usable)
    overflow.push({ page: page.readUInt32BE(at + local), bytes: payload - local });
  return at + local + 4;
}

const varintBytesMax = 9;

function varint(page: Buffer, at: number): number {
  let value = 0;
  for (let n = 0; n < varintBytesMax - 1; n += 1) {
    const byte = page[at + n] ?? 0;
    value = value * 128 + (byte & 127);
    if (byte < 128) return value;
  }
  return value * 256 + (page[at + varintBytesMax - 1] ?? 0);
}

function afterVarint(page: Buffer, at: number): number {
  let end = at;
  while ((page[end] ?? 0) >= 128 && end - at < varintBytesMax - 1) end += 1;
  return end + 1;
}
