import { randomBytes } from 'node:crypto';

/** Randomness as a dependency: bytes for ids and secrets, a fraction in [0, 1) for jitter. */
export interface Random {
  bytes(count: number): Buffer;
  fraction(): number;
}

export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  // Jitter needs no cryptographic randomness, and `randomBytes` is much slower.
  fraction: () => Math.random(),
};

/**
 * Returns a generator whose output depends only on the seed ("mulberry32", which mixes a 32-bit counter). For made-up
 * data and tests, never for secrets that leave this machine.
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

/** Returns base62 text. 22 characters have 130 bits; the modulo bias of 256 over 62 costs less than one of them. */
export function randomText(random: Random, length: number): string {
  let text = '';
  for (const byte of random.bytes(length)) text += alphabet[byte % 62];
  return text;
}
