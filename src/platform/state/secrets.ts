import { createHash } from 'node:crypto';
import { type Random, randomText } from '../../runtime/random.js';

export type Realm = 'test' | 'live';

/** A fast hash is enough for a secret of 40 base62 characters (238 bits): it cannot be guessed. */
export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

export const newId = (random: Random, prefix: string): string => `${prefix}${randomText(random, 22)}`;

export const newSecret = (random: Random, prefix: string): string => `${prefix}${randomText(random, 40)}`;

export function realmOf(credential: string): Realm | undefined {
  const match = /^(?:pk|sk|at|rt)_(test|live)_/.exec(credential);
  return match?.[1] as Realm | undefined;
}
