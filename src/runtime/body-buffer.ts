/**
 * Collects a body that arrives in chunks in one buffer: a sender that sends byte by byte needs no more memory than one that
 * sends all at once. `onKept` receives the number of bytes newly held in memory.
 */
export class BodyBuffer {
  #kept: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(private readonly onKept: (bytes: number) => void) {}

  /** Adds a chunk, and keeps nothing of it when the body is then larger than `bytesMax`. Returns whether it was kept. */
  add(chunk: Buffer, bytesMax: number): boolean {
    const before = this.#bytes;
    this.#bytes += chunk.length;
    if (this.#bytes > bytesMax) return false;
    if (this.#bytes > this.#kept.length) {
      // Most bodies arrive in one chunk. Others double the buffer, instead of keeping an object per chunk.
      const grown = before === 0 ? chunk : Buffer.alloc(Math.max(this.#bytes, 2 * this.#kept.length));
      if (before > 0) this.#kept.copy(grown, 0, 0, before);
      this.onKept(grown.length - this.#kept.length);
      this.#kept = grown;
    }
    if (before > 0) chunk.copy(this.#kept, before);
    return true;
  }

  whole(): Buffer {
    return this.#kept.subarray(0, this.#bytes);
  }
}
