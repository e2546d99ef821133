import { splitScopes } from '../applications/scopes.js';
import type { InstallationResource } from '../contract/installations.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';
import { all, one } from '../state/statements.js';
import type { Target, Tier } from './targets.js';

/** An installation with its target. A target of type `user` is a person who connected the application. */
export interface Installation {
  readonly no: number;
  readonly id: string;
  readonly application_no: number;
  readonly realm: Realm;
  readonly target_type: 'company' | 'syndicate' | 'user';
  readonly target_no: number;
  readonly target_id: string;
  readonly target_name: string;
  readonly tier: string;
  readonly scopes: string;
  readonly installed_by_no: number | null;
  readonly installed_by: string | null;
  readonly installed_at: number;
  readonly revoked_at: number | null;
}

const select = `SELECT i.no, i.id, i.application_no, i.realm,
  CASE WHEN i.company_no IS NOT NULL THEN 'company' WHEN i.syndicate_no IS NOT NULL THEN 'syndicate' ELSE 'user' END
    AS target_type,
  coalesce(i.company_no, i.syndicate_no, i.user_no) AS target_no,
  coalesce(c.id, s.id, p.id) AS target_id, coalesce(c.name, s.name, '') AS target_name,
  i.tier, i.scopes, i.installed_by_no,
  CASE WHEN u.deactivated_at IS NULL THEN u.name END AS installed_by, i.installed_at, i.revoked_at
  FROM installations i LEFT JOIN companies c ON c.no = i.company_no LEFT JOIN syndicates s ON s.no = i.syndicate_no
  LEFT JOIN users p ON p.no = i.user_no LEFT JOIN users u ON u.no = i.installed_by_no`;

const byNo = `${select} WHERE i.no = ?`;
const byId = `${select} WHERE i.id = ? AND i.application_no = ? AND i.realm = ? AND i.user_no IS NULL`;
const listed = `${select} WHERE i.application_no = ? AND i.realm = ? AND i.user_no IS NULL
  AND (i.revoked_at IS NULL OR i.revoked_at > ?) ORDER BY i.no DESC`;
const active = {
  company: `${select} WHERE i.application_no = ? AND i.company_no = ? AND i.revoked_at IS NULL`,
  syndicate: `${select} WHERE i.application_no = ? AND i.syndicate_no = ? AND i.revoked_at IS NULL`,
} as const;

export function installationByNo(state: State, no: number): Installation {
  const row = one<Installation>(state, byNo, [no]);
  if (row === undefined) throw new Error(`no installation ${no}`);
  return row;
}

export function findInstallation(
  state: State,
  applicationNo: number,
  realm: Realm,
  id: string,
): Installation | undefined {
  return one<Installation>(state, byId, [id, applicationNo, realm]);
}

export function listedInstallations(
  state: State,
  applicationNo: number,
  realm: Realm,
  revokedSince: number,
): Installation[] {
  return all<Installation>(state, listed, [applicationNo, realm, revokedSince]);
}

export function activeInstallation(
  state: State,
  applicationNo: number,
  target: Target,
): Installation | undefined {
  return one<Installation>(state, active[target.type], [applicationNo, target.no]);
}

export function installationResourceOf(row: Installation): InstallationResource {
  if (row.target_type === 'user') throw new Error('a user connection cannot be presented as an installation');
  return {
    id: row.id,
    type: 'installation',
    attributes: {
      target: { type: row.target_type, id: row.target_id, name: row.target_name },
      tier: row.tier as Tier,
      scopes: splitScopes(row.scopes),
      status: row.revoked_at === null ? 'active' : 'revoked',
      installed_at: new Date(row.installed_at).toISOString(),
      installed_by: row.installed_by,
      revoked_at: row.revoked_at === null ? null : new Date(row.revoked_at).toISOString(),
    },
  };
}
