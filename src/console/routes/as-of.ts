import type { Request } from 'express';
import { pastTime } from '../../domain/as-of.js';
import { type Fault, isFault } from '../../domain/fault.js';
import type { AsOf } from '../parts/as-of.js';

const charactersMax = 40;

/** Returns the text of `as-of` in the address; empty for the present. */
export const asOfText = ({ query }: Request): string =>
  typeof query['as-of'] === 'string' ? query['as-of'].trim().slice(0, charactersMax) : '';

/** Returns null for the present. Throws `usage` for a text that is not a past time. */
export function asOfFrom(text: string, now: number): AsOf | null {
  const trimmed = text.trim().slice(0, charactersMax);
  return trimmed === '' ? null : { text: trimmed, at: pastTime(trimmed, 'as-of', now) };
}

/** Returns the result of `work`, or the `usage` error of a past time that cannot be shown. */
export async function pastOrProblem<Result>(work: () => Promise<Result>): Promise<Result | Fault> {
  try {
    return await work();
  } catch (error) {
    if (isFault(error, 'usage')) return error;
    throw error;
  }
}
