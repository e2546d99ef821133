/** How much of an answer is read. What goes beyond is `contract_broken` before any of it is parsed. */
export interface BodyLimits {
  /** Counted after inflating. */
  readonly bytesMax: number;
  /** Commas, colons and opening brackets outside of text: what parsing costs, whatever the bytes. */
  readonly partsMax: number;
}

/** Lists of installations and endpoints, single records, tokens: the largest seen is 20 KB. */
export const smallAnswer: BodyLimits = { bytesMax: 1024 * 1024, partsMax: 100_000 };

/** A record has some 120 parts and 2 KB. The limits leave room for ten times the values and twenty times the text. */
const recordPartsMax = 1_500;
const recordBytesMax = 40 * 1024;

/** Pages below this size are treated as if they were asked for with it: an older deployment may ignore `per_page`. */
export const pageItemsMin = 100;

export function pageAnswer(perPage: number): BodyLimits {
  const items = Math.max(perPage, pageItemsMin);
  return { bytesMax: items * recordBytesMax, partsMax: items * recordPartsMax };
}

/** The most that any answer may have, which the connection pool holds to on the wire. */
export const answerBytesMax = pageAnswer(pageItemsMin).bytesMax;

/** Enough of a refusal to see what it says. A gateway may send more with its 502, and that is a 502 nevertheless. */
export const refusalBytesMax = 64 * 1024;

/**
 * A body this small has too few parts to block the event loop, so they are not counted: an ordinary page is below it,
 * and counting would take a twentieth of the time it costs.
 */
const uncountedBytesMax = 256 * 1024;

/**
 * Collects a body and counts its parts while it arrives, so that the work of one turn of the event loop is that of one
 * chunk. The bytes are copied into one buffer: a body sent one byte at a time costs no more memory than any other.
 */
export class BoundedBody {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #length = 0;
  #counted = 0;
  #parts = 0;
  #inText = false;
  #escaped = false;

  constructor(readonly limits: BodyLimits) {}

  /** Returns what there is too much of, or null. */
  add(chunk: Uint8Array): string | null {
    const { bytesMax, partsMax } = this.limits;
    const length = this.#length + chunk.byteLength;
    if (length > bytesMax) return `more than ${bytesMax} bytes`;
    this.#makeRoom(length);
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
    if (length <= uncountedBytesMax) return null;
    this.#count();
    return this.#parts > partsMax
      ? `more than ${partsMax} values, more than it takes to say what was asked`
      : null;
  }

  /** Bytes that are no UTF-8 become U+FFFD: the same rule that holds for text at the door of the databases. */
  toString(): string {
    return this.#bytes.toString('utf8', 0, this.#length);
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.byteLength) return;
    const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.byteLength));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  /** Knows of JSON only where text begins and ends. What is no JSON is counted somehow and then not parsed. */
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
