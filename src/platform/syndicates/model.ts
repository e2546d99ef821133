import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';
import { all, one, run } from '../state/statements.js';

/** A syndicate with its counts. Show it only after `accessTo`. */
export interface Syndicate {
  readonly no: number;
  readonly id: string;
  readonly realm: Realm;
  readonly name: string;
  readonly slug: string;
  readonly tagline: string | null;
  readonly description: string | null;
  readonly avatar_url: string | null;
  readonly published: number;
  readonly launched: number;
  readonly membership_open: number;
  readonly syndicate_type: 'annual_subscription' | 'traditional_fund' | null;
  readonly auto_accept_accredited_members: number;
  readonly auto_approve_join_sessions: number;
  readonly fund_required: number;
  readonly fund_investment_cents: number;
  readonly deals_per_year: number;
  readonly deal_cents: number;
  readonly require_minimum_investment: number;
  readonly minimum_investment_cents: number;
  readonly primary_fund_company_no: number | null;
  readonly primary_fund_company: string | null;
  readonly created_by_no: number;
  readonly created_by: string | null;
  readonly member_count: number;
  readonly deal_count: number;
  readonly created_at: number;
  readonly updated_at: number | null;
}

/** Statuses of rounds that accept money. The API reports `oversubscribed` and `closing` as `open`. */
export const liveStatuses = `('open', 'oversubscribed', 'closing')`;

const select = `SELECT s.*, c.id AS primary_fund_company,
  CASE WHEN u.deactivated_at IS NULL THEN u.id END AS created_by,
  (SELECT count(*) FROM syndicate_members m WHERE m.syndicate_no = s.no AND m.standing = 'member') AS member_count,
  (SELECT count(*) FROM offerings o WHERE o.syndicate_no = s.no AND o.status IN ${liveStatuses}) AS deal_count
  FROM syndicates s JOIN users u ON u.no = s.created_by_no LEFT JOIN companies c ON c.no = s.primary_fund_company_no`;

const byId = `${select} WHERE s.id = ? AND s.realm = ? AND s.deleted_at IS NULL`;
const byNo = `${select} WHERE s.no = ?`;
const managed = `${select} WHERE s.deleted_at IS NULL AND s.realm = $realm AND s.no > $after
  AND (s.created_by_no = $user OR s.no = $bound
    OR EXISTS (SELECT 1 FROM syndicate_managers g WHERE g.syndicate_no = s.no AND g.user_no = $user))
  ORDER BY s.no LIMIT $limit`;

/** Returns the syndicate, or undefined if it does not exist in this realm. */
export const findSyndicate = (state: State, id: string, realm: Realm): Syndicate | undefined =>
  one<Syndicate>(state, byId, [id, realm]);

export function syndicateByNo(state: State, no: number): Syndicate {
  const row = one<Syndicate>(state, byNo, [no]);
  if (row === undefined) throw new Error(`no syndicate ${no}`);
  return row;
}

export interface ManagedBy {
  readonly realm: Realm;
  /** The user whose syndicates are listed; null for a credential bound to one syndicate. */
  readonly user: number | null;
  readonly bound: number | null;
}

export const managedSyndicates = (state: State, by: ManagedBy, after: number, limit: number): Syndicate[] =>
  all<Syndicate>(state, managed, { realm: by.realm, user: by.user, bound: by.bound, after, limit });

export interface SyndicateText {
  readonly name?: string | undefined;
  readonly tagline?: string | null | undefined;
  readonly description?: string | null | undefined;
}

export function writeText(state: State, syndicate: Syndicate, text: SyndicateText, now: number): void {
  run(state, 'UPDATE syndicates SET name = ?, tagline = ?, description = ?, updated_at = ? WHERE no = ?', [
    text.name ?? syndicate.name,
    text.tagline === undefined ? syndicate.tagline : text.tagline,
    text.description === undefined ? syndicate.description : text.description,
    now,
    syndicate.no,
  ]);
}

export type Permission = 'full_access' | 'operator';

export const permissionOf = (state: State, syndicateNo: number, userNo: number): Permission | undefined =>
  one<{ permission: Permission }>(
    state,
    'SELECT permission FROM syndicate_managers WHERE syndicate_no = ? AND user_no = ?',
    [syndicateNo, userNo],
  )?.permission;
