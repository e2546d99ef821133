import type { memberRoles } from '../contract/members.js';
import { notFound } from '../http/problem.js';
import type { State } from '../state/database.js';
import { exactSum } from '../state/exact-sum.js';
import { one } from '../state/statements.js';
import type { Permission } from '../syndicates/model.js';

export type MemberRole = (typeof memberRoles)[number];
/** The stored standing. The roles `creator` and `manager` are derived from the permission tables. */
export type Standing =
  | 'member'
  | 'invitee'
  | 'applicant'
  | 'exiled'
  | 'resigned'
  | 'removed'
  | 'declined'
  | 'withdrawn';

/** A member. The row of an invitee has no account data, because the person has not accepted yet. */
export interface Member {
  readonly no: number;
  readonly id: string;
  readonly syndicate_no: number;
  readonly user_no: number | null;
  readonly standing: Standing;
  readonly role: MemberRole;
  readonly permission: Permission | null;
  readonly invited_permission: Permission | null;
  readonly invite_token: string | null;
  readonly consented: number;
  readonly user_id: string | null;
  readonly name: string | null;
  readonly email: string | null;
  readonly username: string | null;
  readonly legal_name: string | null;
  readonly bio: string | null;
  readonly accredited: number | null;
  readonly location: string | null;
  readonly linkedin_url: string | null;
  readonly twitter_url: string | null;
  readonly website: string | null;
  readonly avatar_url: string | null;
  readonly hide_location: number | null;
  readonly interests: string | null;
  readonly stage_preferences: string | null;
  readonly looking_for: string | null;
  readonly last_login_at: number | null;
  readonly title: string | null;
  readonly sort_order: number;
  readonly carry_percentage_override: number | null;
  readonly carry_discount_percentage: number;
  readonly management_fee_discount_percentage: number;
  readonly public_on_syndicate_profile: number;
  readonly tags: string;
  readonly private_tags: string;
  readonly starred: number;
  /** As `exactSum` writes it. */
  readonly invested: string;
  /** Orders members by it: exact up to 2^53. */
  readonly invested_about: number;
  readonly deal_count: number;
  readonly created_at: number;
  readonly updated_at: number;
}

const money = (what: string) => `(SELECT ${what} FROM syndicate_investments v
  WHERE v.investor_no = m.user_no AND v.syndicate_no = m.syndicate_no)`;

/** Joins the account only after the invitation was accepted. A closed account shows its placeholder name. */
export const memberSelect = `SELECT m.no, m.id, m.syndicate_no, m.user_no, m.standing,
  CASE WHEN m.standing <> 'member' THEN m.standing WHEN m.user_no = s.created_by_no THEN 'creator'
    WHEN g.permission IS NOT NULL THEN 'manager' ELSE 'member' END AS role,
  CASE m.standing WHEN 'invitee' THEN m.invited_permission ELSE g.permission END AS permission,
  m.invited_permission, m.invite_token, m.consented,
  CASE WHEN u.deactivated_at IS NULL THEN u.id END AS user_id,
  coalesce(u.name, m.invited_name) AS name,
  CASE WHEN u.no IS NULL THEN m.invited_email WHEN u.deactivated_at IS NULL THEN u.email END AS email,
  CASE WHEN u.deactivated_at IS NULL THEN u.username END AS username, u.legal_name, u.bio, u.accredited,
  u.address AS location, p.linkedin_url, p.twitter_url, p.website, p.avatar_url, p.hide_location, p.interests,
  p.stage_preferences, p.looking_for, p.last_login_at, m.title, m.sort_order, m.carry_percentage_override,
  m.carry_discount_percentage, m.management_fee_discount_percentage, m.public_on_syndicate_profile, m.tags,
  m.private_tags, m.starred, ${money(exactSum('v.committed_cents'))} AS invested,
  ${money('total(v.committed_cents)')} AS invested_about,
  ${money('count(DISTINCT v.offering_no)')} AS deal_count, m.created_at, m.updated_at
  FROM syndicate_members m JOIN syndicates s ON s.no = m.syndicate_no
  LEFT JOIN users u ON u.no = m.user_no AND m.standing <> 'invitee'
  LEFT JOIN member_profiles p ON p.user_no = u.no
  LEFT JOIN syndicate_managers g ON g.syndicate_no = m.syndicate_no AND g.user_no = m.user_no`;

/** The standings that listings include. */
export const listedStandings = `('member', 'invitee', 'applicant', 'exiled', 'resigned')`;

const byId = `${memberSelect} WHERE m.syndicate_no = ? AND m.id = ? AND m.standing IN ${listedStandings}`;
const byNo = `${memberSelect} WHERE m.no = ?`;
const byUser = `${memberSelect} WHERE m.syndicate_no = ? AND m.user_no = ?`;
/** Prefers the row of the account to a row with only the email. */
const byEmail = `${memberSelect} WHERE m.syndicate_no = $syndicate AND (lower(m.invited_email) = lower($email)
  OR m.user_no = (SELECT no FROM users WHERE lower(email) = lower($email))) ORDER BY m.user_no IS NULL LIMIT 1`;
const byInvite = `${memberSelect} WHERE m.invite_token = ?`;

export function findMember(state: State, syndicateNo: number, id: string): Member {
  const row = one<Member>(state, byId, [syndicateNo, id]);
  if (row === undefined) throw notFound(`The member ${id}`);
  return row;
}

export function memberByNo(state: State, no: number): Member {
  const row = one<Member>(state, byNo, [no]);
  if (row === undefined) throw new Error(`no syndicate member ${no}`);
  return row;
}

export const memberOfUser = (state: State, syndicateNo: number, userNo: number): Member | undefined =>
  one<Member>(state, byUser, [syndicateNo, userNo]);

/** Returns the member with this email, whether the row has the account or only the email. */
export const memberOfEmail = (state: State, syndicateNo: number, email: string): Member | undefined =>
  one<Member>(state, byEmail, { syndicate: syndicateNo, email });

export const memberOfInvite = (state: State, token: string): Member | undefined =>
  one<Member>(state, byInvite, [token]);
