import type { CentsSum } from '../../domain/money.js';

/** Returns what JSON.stringify writes as the digits of the sum. It has no other way to write a bigint. */
export const writtenSum = (sum: CentsSum): unknown =>
  typeof sum === 'bigint' ? JSON.rawJSON(String(sum)) : sum;

declare global {
  /** Node has it since 21, the library of TypeScript not yet. */
  interface JSON {
    rawJSON(text: string): unknown;
  }
}
