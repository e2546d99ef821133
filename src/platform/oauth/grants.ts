import { refreshAbsoluteSeconds } from '../../wire/limits.js';
import { newId, type Realm } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import type { Minting } from './tokens.js';

/** One consent of one user to one application. Every credential issued from it belongs to its family. */
export interface Grant {
  readonly family: string;
  readonly application_no: number;
  readonly client_id: string;
  readonly realm: Realm;
  readonly user_no: number;
  readonly installation_no: number | null;
  readonly scopes: string;
  readonly expires_at: number;
  readonly revoked_at: number | null;
}

export interface GrantWish {
  readonly applicationNo: number;
  readonly clientId: string;
  readonly userNo: number;
  readonly scopes: readonly string[];
}

export function startGrant(services: Minting, wish: GrantWish, now: number): Grant {
  const family = newId(services.random, 'fam_');
  run(
    services.state,
    `INSERT INTO grants (family, application_no, client_id, user_no, scopes, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    [
      family,
      wish.applicationNo,
      wish.clientId,
      wish.userNo,
      wish.scopes.join(' '),
      now,
      now + refreshAbsoluteSeconds * 1000,
    ],
  );
  return grantOf(services, family);
}

export function grantOf(services: Minting, family: string): Grant {
  const grant = one<Grant>(
    services.state,
    `SELECT g.family, g.application_no, g.client_id, c.realm, g.user_no, g.installation_no, g.scopes, g.expires_at,
       g.revoked_at
     FROM grants g JOIN clients c ON c.client_id = g.client_id WHERE g.family = ?`,
    [family],
  );
  if (grant === undefined) throw new Error(`no grant of family ${family}`);
  return grant;
}

/** Revokes a family: access tokens, refresh tokens and an unused code. Returns false if it was revoked already. */
export function endGrant(services: Minting, family: string, because: string, now: number): boolean {
  const { changes } = run(
    services.state,
    'UPDATE grants SET revoked_at = ?, revoked_because = ? WHERE family = ? AND revoked_at IS NULL',
    [now, because, family],
  );
  run(services.state, 'UPDATE access_tokens SET revoked_at = ? WHERE family = ? AND revoked_at IS NULL', [
    now,
    family,
  ]);
  run(services.state, 'UPDATE refresh_tokens SET ended_at = ? WHERE family = ? AND ended_at IS NULL', [
    now,
    family,
  ]);
  return changes > 0;
}
