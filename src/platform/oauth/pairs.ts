import { refreshIdleSeconds } from '../../wire/limits.js';
import { digestOf, newSecret } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import type { Grant } from './grants.js';
import { insertToken, type MintedToken, type Minting } from './tokens.js';

export interface MintedPair extends MintedToken {
  readonly refreshToken: string;
}

/**
 * An access token and the refresh token that comes with it, issued for the refresh token `parentNo`.
 *
 * An answer can be lost, late or doubled, so a rotated refresh token must go on working until a successor of it is
 * known to have arrived. The proof of arrival is the first use of an access token (`settle`): until then every pair
 * issued for the same refresh token may be the one that arrived, and at that moment all the others end. Two holders
 * of a family cannot both go on: the first to use what it got ends what the other has.
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

/** First use of an access token: its pair has arrived, so what is not below it in the family stops working now. */
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
