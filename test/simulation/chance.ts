import type { Random } from '../../src/runtime/random.js';

/**
 * A named source of randomness. Every consumer forks its own stream, so an extra draw in one place does not shift
 * the draws of another, and a failure stays the same while its plan is shrunk.
 */
export class Chance {
  #a: number;
  #b: number;
  #c: number;
  #d = 1;

  constructor(readonly name: string) {
    const [a, b, c] = [1, 2, 3].map((salt) => hash(`${salt}:${name}`));
    this.#a = a ?? 0;
    this.#b = b ?? 0;
    this.#c = c ?? 0;
    for (let warm = 0; warm < 12; warm += 1) this.#next();
  }

  fork(name: string): Chance {
    return new Chance(`${this.name}/${name}`);
  }

  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  /** Returns an integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  /** Returns small values often and large ones rarely, like real delays and sizes. */
  skewed(low: number, high: number): number {
    return Math.round(low + (high - low) * this.fraction() ** 3);
  }

  yes(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<Item>(list: readonly Item[]): Item {
    const item = list[Math.floor(this.fraction() * list.length)];
    if (item === undefined) throw new Error(`${this.name}: nothing to pick from`);
    return item;
  }

  text(length: number): string {
    let text = '';
    while (text.length < length) text += this.#next().toString(36);
    return text.slice(0, length);
  }

  /** The same stream as a `Random` for the daemon. */
  asRandom(): Random {
    return {
      bytes: (count) => Buffer.from(Array.from({ length: count }, () => this.#next() & 0xff)),
      fraction: () => this.fraction(),
    };
  }

  /** sfc32 */
  #next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + sum) | 0;
    return sum >>> 0;
  }
}

/** FNV-1a with a final mix. */
export function hash(text: string, from = 0x811c9dc5): number {
  let value = from;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
