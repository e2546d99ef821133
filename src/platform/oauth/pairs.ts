import { refreshIdleSeconds } from '../../contract/limits.js';
import { digestOf, newSecret } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import type { Grant } from './grants.js';
import { insertToken, type MintedToken, type Minting } from './tokens.js';

export interface MintedPair extends MintedToken {
  readonly refreshToken: string;
}

/**
 * An access token and the refresh token that comes with it, at the end of the family's chain.
 *
 * A response can be lost, so a rotated refresh token must go on working until its successor is known to have
 * arrived. The proof of arrival is the first use of the new access token (`settle`); until then presenting the old
 * refresh token again voids the unproven pairs behind it and issues one in their place (`voidAfter`). At every
 * moment there is one chain and never a fork: two holders of a family cannot both go on.
 */
export function issuePair(
  services: Minting,
  grant: Grant,
  scopes: readonly string[],
  now: number,
): MintedPair {
  const access = insertToken(
    services,
    {
      kind: 'user',
      realm: grant.realm,
      applicationNo: grant.application_no,
      userNo: grant.user_no,
      family: grant.family,
      scopes,
    },
    now,
  );
  const refreshToken = newSecret(services.random, `rt_${grant.realm}_`);
  run(
    services.state,
    `INSERT INTO refresh_tokens (digest, family, position, access_token_no, created_at, expires_at)
     SELECT ?, ?, coalesce(max(position), -1) + 1, ?, ?, ? FROM refresh_tokens WHERE family = ?`,
    [
      digestOf(refreshToken),
      grant.family,
      access.no,
      now,
      Math.min(now + refreshIdleSeconds * 1000, grant.expires_at),
      grant.family,
    ],
  );
  return { ...access, refreshToken };
}

/** First use of an access token: the pair has arrived, so every refresh token before it stops working now. */
export function settle(services: Minting, accessTokenNo: number, now: number): void {
  services.state.transaction(() => {
    run(services.state, 'UPDATE access_tokens SET first_used_at = ? WHERE no = ? AND first_used_at IS NULL', [
      now,
      accessTokenNo,
    ]);
    const pair = one<{ family: string; position: number }>(
      services.state,
      'SELECT family, position FROM refresh_tokens WHERE access_token_no = ?',
      [accessTokenNo],
    );
    if (pair === undefined) return;
    run(
      services.state,
      'UPDATE refresh_tokens SET ended_at = ? WHERE family = ? AND position < ? AND ended_at IS NULL',
      [now, pair.family, pair.position],
    );
  })();
}

/** The pairs behind a refresh token that still works were never used: a later one would have ended it. */
export function voidAfter(services: Minting, family: string, position: number, now: number): void {
  run(
    services.state,
    `UPDATE access_tokens SET revoked_at = ? WHERE revoked_at IS NULL AND no IN
       (SELECT access_token_no FROM refresh_tokens WHERE family = ? AND position > ?)`,
    [now, family, position],
  );
  run(
    services.state,
    'UPDATE refresh_tokens SET ended_at = ? WHERE family = ? AND position > ? AND ended_at IS NULL',
    [now, family, position],
  );
}
