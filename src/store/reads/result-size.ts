import type { SqlValue } from '../dialect/port.js';
import { resultTooLarge, rowTooLarge } from '../query-refusals.js';

/** The largest row a query may return: more than a person reads, less than the longest string of the engine. */
export const rowBytesMaxDefault = 64 * 1_048_576;

export interface SizeLimits {
  readonly rowBytesMax: number;
  /** Null for a result of any size, which is streamed. */
  readonly bytesMax: number | null;
}

/** Counts the bytes of a result. `add` throws `usage` for the row that exceeds a limit. */
export class ResultSize {
  #bytes = 0;

  constructor(private readonly limits: SizeLimits) {}

  add(rowBytes: number): void {
    const { rowBytesMax, bytesMax } = this.limits;
    if (rowBytes > rowBytesMax) throw rowTooLarge(rowBytesMax);
    this.#bytes += rowBytes;
    if (bytesMax !== null && this.#bytes > bytesMax) throw resultTooLarge(bytesMax);
  }
}

/** A value that is neither text nor a blob takes eight bytes at most. */
const plainBytes = 8;

export function bytesOf(row: readonly SqlValue[]): number {
  let bytes = 0;
  for (const value of row) {
    if (typeof value === 'string') bytes += Buffer.byteLength(value);
    else bytes += value instanceof Uint8Array ? value.byteLength : plainBytes;
  }
  return bytes;
}
