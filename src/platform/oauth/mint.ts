import type { Realm } from '../state/secrets.js';
import { startGrant } from './grants.js';
import { issuePair, type MintedPair } from './pairs.js';
import { insertToken, type MintedToken, type Minting, type TokenWish } from './tokens.js';

/**
 * Creates credentials without a consent page, for the sandbox seed and for installations.
 *
 *   mintToken({ state, random }, { kind: 'user', realm, applicationNo, clientId, userNo, scopes }, now)
 *     → { no, token: 'at_…', refreshToken: 'rt_…', expiresAt }
 *   mintToken({ state, random }, { kind: 'installation', realm, applicationNo, installationNo, scopes }, now)
 *   mintToken({ state, random }, { kind: 'syndicate_key', realm, applicationNo, syndicateNo, scopes }, now)
 *   mintToken({ state, random }, { kind: 'application', realm, applicationNo, scopes }, now)
 *     → { no, token: 'at_…', expiresAt }   (never expires: expiresAt null, except for 'application')
 *
 * Values come from `random`, so a seeded `Random` produces the same tokens. Scopes are stored as given.
 */
export function mintToken(minting: Minting, wish: UserTokenWish, now: number): MintedPair;
export function mintToken(minting: Minting, wish: LoneTokenWish, now: number): MintedToken;
export function mintToken(
  minting: Minting,
  wish: UserTokenWish | LoneTokenWish,
  now: number,
): MintedToken | MintedPair {
  return minting.state.transaction(() => {
    if (wish.kind !== 'user') return insertToken(minting, wish, now);
    return issuePair(minting, startGrant(minting, wish, now), wish.scopes, null, now);
  })();
}

export interface UserTokenWish {
  readonly kind: 'user';
  readonly realm: Realm;
  readonly applicationNo: number;
  readonly clientId: string;
  readonly userNo: number;
  readonly scopes: readonly string[];
}

export type LoneTokenWish = Exclude<TokenWish, { kind: 'user' }>;
