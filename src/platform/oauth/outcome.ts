import type { MintedPair } from './pairs.js';

/** Error codes of the token endpoint (RFC 6749 §5.2). */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type';

/**
 * A refusal is a value, not an exception: refusing a replay also revokes the issued tokens, and an exception would roll
 * that back with the transaction.
 */
export type Outcome =
  | { readonly kind: 'issued'; readonly pair: MintedPair; readonly scopes: readonly string[] }
  | Refusal;

export interface Refusal {
  readonly kind: 'refused';
  readonly error: OAuthErrorCode;
  readonly why: string;
}

export const refused = (error: OAuthErrorCode, why: string): Refusal => ({ kind: 'refused', error, why });
