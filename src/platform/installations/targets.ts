import type { Version } from '../../wire/versions.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';
import { all, one } from '../state/statements.js';

export type TargetType = 'company' | 'syndicate';
export type Tier = 'founder' | 'admin' | 'editor' | 'full_access';

export interface Target {
  readonly type: TargetType;
  readonly no: number;
  readonly id: string;
  readonly name: string;
}

/** What a user may do with a target when installing; null when nothing is allowed. */
export interface InstallRight {
  readonly tier: Tier;
  /** The installation gets no write scopes. */
  readonly readOnly: boolean;
}

const rank: Readonly<Record<Tier, number>> = { full_access: 3, founder: 3, admin: 2, editor: 1 };

const findSql = {
  company: 'SELECT no, id, name FROM companies WHERE id = ? AND realm = ?',
  syndicate: 'SELECT no, id, name FROM syndicates WHERE id = ? AND realm = ?',
} as const;

/** Returns the target, or undefined if it does not exist in this realm. */
export function findTarget(state: State, realm: Realm, type: TargetType, id: string): Target | undefined {
  const row = one<{ no: number; id: string; name: string }>(state, findSql[type], [id, realm]);
  return row && { type, ...row };
}

interface Member {
  readonly tier: 'founder' | 'admin' | 'editor';
  readonly can_edit: number;
}

const editorWithoutEdit = (member: Member): boolean => member.tier === 'editor' && member.can_edit === 0;

/**
 * Returns the tier a user installs at. A requested tier is used if the user has it, that is, at or below their own.
 * Since 2026-10-15 founders and admins without edit access install read-only; editors always do.
 */
export function installRightOn(
  state: State,
  target: Target,
  userNo: number,
  version: Version,
  wish?: Tier,
): InstallRight | null {
  if (target.type === 'syndicate') {
    const permission = syndicatePermission(state, target.no, userNo);
    return permission === 'full_access' ? { tier: 'full_access', readOnly: false } : null;
  }
  const member = companyMember(state, target.no, userNo);
  if (member === undefined || editorWithoutEdit(member)) return null;
  const tier =
    wish !== undefined && wish !== 'full_access' && rank[wish] <= rank[member.tier] ? wish : member.tier;
  const readOnly = tier === 'editor' || (member.can_edit === 0 && version >= '2026-10-15');
  return { tier, readOnly };
}

/** Returns whether the user may revoke an installation: editors of the company, managers of the syndicate. */
export function mayManageTarget(state: State, target: Pick<Target, 'type' | 'no'>, userNo: number): boolean {
  return target.type === 'company'
    ? companyMember(state, target.no, userNo)?.can_edit === 1
    : syndicatePermission(state, target.no, userNo) !== undefined;
}

function companyMember(state: State, companyNo: number, userNo: number): Member | undefined {
  return one<Member>(
    state,
    'SELECT tier, can_edit FROM company_members WHERE company_no = ? AND user_no = ?',
    [companyNo, userNo],
  );
}

function syndicatePermission(
  state: State,
  syndicateNo: number,
  userNo: number,
): 'full_access' | 'operator' | undefined {
  return one<{ permission: 'full_access' | 'operator' }>(
    state,
    'SELECT permission FROM syndicate_managers WHERE syndicate_no = ? AND user_no = ?',
    [syndicateNo, userNo],
  )?.permission;
}

/** Returns the acting user's role on the target, for events. It never identifies the user. */
export function actorRole(state: State, target: Pick<Target, 'type' | 'no'>, userNo: number): string {
  const role =
    target.type === 'company'
      ? companyMember(state, target.no, userNo)?.tier
      : syndicatePermission(state, target.no, userNo);
  return role ?? 'organization';
}

export function targetsOf(state: State, realm: Realm, userNo: number): Target[] {
  return all<{ type: TargetType; no: number; id: string; name: string }>(
    state,
    `SELECT 'company' AS type, c.no, c.id, c.name FROM company_members m JOIN companies c ON c.no = m.company_no
       WHERE m.user_no = $user AND c.realm = $realm
     UNION ALL
     SELECT 'syndicate', s.no, s.id, s.name FROM syndicate_managers m JOIN syndicates s ON s.no = m.syndicate_no
       WHERE m.user_no = $user AND s.realm = $realm
     ORDER BY type, no`,
    { user: userNo, realm },
  );
}

/** Returns whether a manager of the organization may edit the company or manages the syndicate. */
export function organizationManages(state: State, organizationNo: number, target: Target): boolean {
  const managers = all<{ user_no: number }>(
    state,
    `SELECT user_no FROM organization_members WHERE organization_no = ? AND role <> 'viewer'`,
    [organizationNo],
  );
  return managers.some(({ user_no }) => mayManageTarget(state, target, user_no));
}
