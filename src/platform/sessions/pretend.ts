import type { FundingStatus, KycStatus } from '../contract/sessions.js';

/*
 * Simulated identity check and card network. The result depends only on the entered number, which is not stored or sent
 * anywhere.
 */

export const refusedDocument = '000000000';
export const cards = {
  approved: '4242424242424242',
  declined: '4000000000000002',
  poor: '4000000000009995',
} as const;

/** Returns undefined if the text cannot be a document number. */
export function checkIdentity(typed: string): KycStatus | undefined {
  const document = typed.replaceAll(/[\s-]/g, '');
  if (!/^[0-9A-Za-z]{5,20}$/.test(document)) return undefined;
  return document === refusedDocument ? 'failed' : 'passed';
}

/** Returns undefined if the text cannot be a card number. */
export function charge(typed: string): FundingStatus | undefined {
  const card = typed.replaceAll(/[\s-]/g, '');
  if (!/^\d{12,19}$/.test(card) || !addsUp(card)) return undefined;
  if (card === cards.declined) return 'card_declined';
  return card === cards.poor ? 'insufficient_funds' : 'succeeded';
}

/** Verifies the Luhn check digit of a card number (ISO/IEC 7812). */
function addsUp(digits: string): boolean {
  let sum = 0;
  for (const [index, digit] of [...digits].reverse().entries()) {
    const value = index % 2 === 0 ? Number(digit) : Number(digit) * 2;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
