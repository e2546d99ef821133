import type { Services } from '../services.js';
import type { Realm } from '../state/secrets.js';
import { startGrant } from './grants.js';
import { issuePair, type MintedPair } from './pairs.js';
import { insertToken, type MintedToken, type TokenWish } from './tokens.js';

/**
 * Credentials without the ceremony: for a seeded world and for installs, where nobody passes a consent page.
 *
 *   mintToken(services, { kind: 'user', realm, applicationNo, clientId, userNo, scopes })
 *     → { no, token: 'at_…', refreshToken: 'rt_…', expiresAt }
 *   mintToken(services, { kind: 'installation', realm, applicationNo, installationNo, scopes })
 *   mintToken(services, { kind: 'syndicate_key', realm, applicationNo, syndicateNo, scopes })
 *   mintToken(services, { kind: 'application', realm, applicationNo, scopes })
 *     → { no, token: 'at_…', expiresAt }   (never expires: expiresAt null, except for 'application')
 *
 * Values come from `services.random`, so a seeded Random gives the same world again. Scopes are stored as given.
 */
export function mintToken(services: Services, wish: UserTokenWish): MintedPair;
export function mintToken(services: Services, wish: LoneTokenWish): MintedToken;
export function mintToken(services: Services, wish: UserTokenWish | LoneTokenWish): MintedToken | MintedPair {
  return services.state.transaction(() => {
    const now = services.clock.now();
    if (wish.kind !== 'user') return insertToken(services, wish, now);
    return issuePair(services, startGrant(services, wish, now), wish.scopes, now);
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
