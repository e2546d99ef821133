import { randomBytes } from 'node:crypto';

/** Chance as an argument: bytes for ids and secrets, a fraction in [0, 1) for jitter. */
export interface Random {
  bytes(count: number): Buffer;
  fraction(): number;
}

export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  // Jitter need not be unguessable: from `randomBytes` it takes a hundred times as long.
  fraction: () => Math.random(),
};

/**
 * The same seed gives the same stream (xoshiro-style mix of a 32-bit counter, "mulberry32").
 * For worlds and tests, never for secrets that leave this machine.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return {
    bytes: (count) => {
      const bytes = Buffer.allocUnsafe(count);
      for (let index = 0; index < count; index += 1) bytes[index] = next() & 0xff;
      return bytes;
    },
    fraction: () => next() / 2 ** 32,
  };
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Base62 text; 22 letters carry 130 bits. The modulo bias of 256 over 62 costs less than a bit of that. */
export function randomText(random: Random, length: number): string {
  let text = '';
  for (const byte of random.bytes(length)) text += alphabet[byte % 62];
  return text;
}
