import { closeSync, openSync, readSync } from 'node:fs';

const logHeaderBytes = 32;
const frameHeaderBytes = 24;

/** Returns the numbers of the pages in the write-ahead log, including those of commits that were rolled back. */
export function pagesInLog(file: string, pageSize: number): Set<number> {
  const pages = new Set<number>();
  const log = openSync(`${file}-wal`, 'r');
  try {
    const header = Buffer.alloc(logHeaderBytes);
    if (readSync(log, header, 0, logHeaderBytes, 0) < logHeaderBytes) return pages;
    const salts = header.subarray(16, 24);
    const frame = Buffer.alloc(frameHeaderBytes);
    for (let at = logHeaderBytes; ; at += frameHeaderBytes + pageSize) {
      if (readSync(log, frame, 0, frameHeaderBytes, at) < frameHeaderBytes) return pages;
      // A frame of an earlier round of the log has other salts.
      if (!frame.subarray(8, 16).equals(salts)) return pages;
      pages.add(frame.readUInt32BE(0));
    }
  } finally {
    closeSync(log);
  }
}
