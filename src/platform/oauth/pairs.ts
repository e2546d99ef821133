import { refreshIdleSeconds } from '../../wire/limits.js';
import { digestOf, newSecret } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import type { Grant } from './grants.js';
import { insertToken, type MintedToken, type Minting } from './tokens.js';

export interface MintedPair extends MintedToken {
  readonly refreshToken: string;
}

/**
 * Issues an access token and a refresh token in exchange for the refresh token `parentNo`.
 *
 * A response can be lost, delayed or duplicated, so a rotated refresh token must keep working until one of its
 * successors is known to have arrived. The proof is the first use of an access token (`settle`). Until then any pair
 * issued for the same refresh token may be the one that arrived; at that moment all other pairs are revoked. Two holders
 * of one family therefore cannot both continue: the first to use its pair revokes the pair of the other.
 */
export function issuePair(
  services: Minting,
  grant: Grant,
  scopes: readonly string[],
  parentNo: number | null,
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
    `INSERT INTO refresh_tokens (digest, family, parent_no, access_token_no, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
    [
      digestOf(refreshToken),
      grant.family,
      parentNo,
      access.no,
      now,
      Math.min(now + refreshIdleSeconds * 1000, grant.expires_at),
    ],
  );
  return { ...access, refreshToken };
}

/** Handles the first use of an access token: revokes every pair of the family that does not descend from its pair. */
export function settle(services: Minting, accessTokenNo: number, now: number): void {
  const { state } = services;
  state.transaction(() => {
    run(state, 'UPDATE access_tokens SET first_used_at = ? WHERE no = ? AND first_used_at IS NULL', [
      now,
      accessTokenNo,
    ]);
    const pair = one<{ no: number; family: string }>(
      state,
      'SELECT no, family FROM refresh_tokens WHERE access_token_no = ? AND ended_at IS NULL',
      [accessTokenNo],
    );
    if (pair === undefined) return;
    run(state, `${below} UPDATE refresh_tokens SET ended_at = ? ${elsewhere}`, [pair.no, now, pair.family]);
    run(
      state,
      `${below} UPDATE access_tokens SET revoked_at = ? WHERE first_used_at IS NULL AND revoked_at IS NULL
       AND no IN (SELECT access_token_no FROM refresh_tokens WHERE family = ? AND no NOT IN kept)`,
      [pair.no, now, pair.family],
    );
  })();
}

const below = `WITH RECURSIVE kept (no) AS (
  VALUES (?) UNION ALL SELECT r.no FROM refresh_tokens r JOIN kept ON r.parent_no = kept.no
)`;
const elsewhere = 'WHERE family = ? AND ended_at IS NULL AND no NOT IN kept';
