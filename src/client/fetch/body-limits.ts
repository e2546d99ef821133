import { withoutByteOrderMark } from '../../domain/text.js';

/** Limits of a response body. A larger one is rejected as `contract_broken` before any of it is parsed. */
export interface BodyLimits {
  /** Counted after decompression. */
  readonly bytesMax: number;
  /** Commas, colons and opening brackets outside strings: they determine the cost of parsing, whatever the size. */
  readonly partsMax: number;
}

/** For lists of installations and endpoints, single records and tokens. */
export const smallAnswer: BodyLimits = { bytesMax: 1024 * 1024, partsMax: 100_000 };

/** A record has some 120 parts and 2 KB. The limits allow ten times the values and twenty times the text. */
const recordPartsMax = 1_500;
const recordBytesMax = 40 * 1024;

/** The limits of smaller pages are those of this size: an older deployment may ignore `per_page`. */
export const pageItemsMin = 100;

export function pageAnswer(perPage: number): BodyLimits {
  const items = Math.max(perPage, pageItemsMin);
  return { bytesMax: items * recordBytesMax, partsMax: items * recordPartsMax };
}

/** A list without pages: room for some 30,000 installations of half a kilobyte. */
export const installationsAnswer: BodyLimits = { bytesMax: 16 * 1024 * 1024, partsMax: 1_000_000 };

/** The largest response of any kind; the connection pool enforces it on the wire. */
export const answerBytesMax = Math.max(pageAnswer(pageItemsMin).bytesMax, installationsAnswer.bytesMax);

/** How much of an error response is read. A gateway may send more with its 502; the status counts anyway. */
export const refusalBytesMax = 64 * 1024;

/** A body this small cannot block the event loop, so its parts are not counted. Ordinary pages are below it. */
const uncountedBytesMax = 256 * 1024;

/**
 * Collects a body and counts its parts as chunks arrive, so one turn of the event loop handles one chunk. The bytes
 * are copied into one buffer: a body sent one byte at a time needs no more memory than any other.
 */
export class BoundedBody {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #length = 0;
  #counted = 0;
  #parts = 0;
  #inText = false;
  #escaped = false;

  constructor(readonly limits: BodyLimits) {}

  /** Returns which limit the body exceeds, or null. */
  add(chunk: Uint8Array): string | null {
    const { bytesMax, partsMax } = this.limits;
    const length = this.#length + chunk.byteLength;
    if (length > bytesMax) return `more than ${bytesMax} bytes`;
    this.#makeRoom(length);
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
    if (length <= uncountedBytesMax) return null;
    this.#count();
    return this.#parts > partsMax ? `more than ${partsMax} values, more than any valid response needs` : null;
  }

  /** Invalid UTF-8 becomes U+FFFD, the same rule that applies to text stored in the databases. A byte order mark is left out. */
  toString(): string {
    return withoutByteOrderMark(this.#bytes.toString('utf8', 0, this.#length));
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.byteLength) return;
    const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.byteLength));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  /** Recognizes only where strings begin and end. Text that is not JSON gets some count and then fails to parse. */
  #count(): void {
    const bytes = this.#bytes;
    let parts = 0;
    let inText = this.#inText;
    let escaped = this.#escaped;
    for (let at = this.#counted; at < this.#length; at += 1) {
      const sign = bytes[at];
      if (inText) {
        if (escaped) escaped = false;
        else if (sign === backslash) escaped = true;
        else if (sign === quote) inText = false;
      } else if (sign === quote) inText = true;
      else if (sign === comma || sign === colon || sign === openBracket || sign === openBrace) parts += 1;
    }
    this.#inText = inText;
    this.#escaped = escaped;
    this.#counted = this.#length;
    this.#parts += parts;
  }
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const openBrace = 0x7b;
