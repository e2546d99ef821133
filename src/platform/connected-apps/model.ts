import { endFamily } from '../installations/connections.js';
import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';
import { all, one } from '../state/statements.js';

export interface ConnectedApp {
  readonly no: number;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly connected_at: number;
  readonly last_active_at: number | null;
  readonly action_count: number;
}

interface Consent {
  readonly family: string;
  readonly application_no: number;
  readonly name: string;
  readonly scopes: string;
  readonly created_at: number;
}

const consentsSql = `SELECT g.family, g.application_no, a.name, g.scopes, g.created_at
  FROM grants g JOIN clients c ON c.client_id = g.client_id JOIN applications a ON a.no = g.application_no
  WHERE g.user_no = ? AND c.realm = ? AND g.revoked_at IS NULL AND g.expires_at > ? ORDER BY g.created_at, g.family`;

/** Returns the applications with at least one active consent. Their scopes are the union of all consents. */
export function connectedApps(
  state: State,
  userNo: number,
  realm: Realm,
  now: number,
): readonly ConnectedApp[] {
  const consents = all<Consent>(state, consentsSql, [userNo, realm, now]);
  const numbers = [...new Set(consents.map((consent) => consent.application_no))];
  return numbers.map((no) => {
    const own = consents.filter((consent) => consent.application_no === no);
    const deeds = one<{ count: number; latest: number | null }>(
      state,
      `SELECT count(*) AS count, max(occurred_at) AS latest FROM audit_events
       WHERE user_no = ? AND application_no = ? AND realm = ?`,
      [userNo, no, realm],
    );
    const tokens = one<{ latest: number | null }>(
      state,
      `SELECT max(first_used_at) AS latest FROM access_tokens
       WHERE user_no = ? AND application_no = ? AND realm = ?`,
      [userNo, no, realm],
    );
    const active = [deeds?.latest, tokens?.latest].filter((at) => at !== null && at !== undefined);
    return {
      no,
      name: own[0]?.name ?? '',
      scopes: [...new Set(own.flatMap((consent) => consent.scopes.split(' ')))].filter(Boolean).sort(),
      connected_at: own[0]?.created_at ?? now,
      last_active_at: active.length === 0 ? null : Math.max(...active),
      action_count: deeds?.count ?? 0,
    };
  });
}

/** Revokes every consent to the application. Returns the number of live tokens revoked. */
export function disconnect(
  services: Services,
  userNo: number,
  realm: Realm,
  applicationNo: number,
  now: number,
): number {
  const { state } = services;
  const live = one<{ count: number }>(
    state,
    `SELECT count(*) AS count FROM access_tokens WHERE user_no = ? AND application_no = ? AND realm = ?
       AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`,
    [userNo, applicationNo, realm, now],
  );
  const consents = all<Consent>(state, consentsSql, [userNo, realm, now]);
  for (const consent of consents) {
    if (consent.application_no === applicationNo)
      endFamily(services, consent.family, 'user_disconnected', now);
  }
  return live?.count ?? 0;
}
