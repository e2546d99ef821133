import type { MemberResource } from '../contract/members.js';
import { iso, isoOrNull } from '../http/timestamps.js';
import { centsOfSum } from '../state/exact-sum.js';
import { wholeDollars } from '../syndicates/present.js';
import type { Member } from './model.js';

/** Returns the member as this kind of reader may see it. */
export function memberResourceOf(row: Member, reader: 'moderator' | 'member'): MemberResource {
  const moderator = reader === 'moderator';
  return {
    id: row.id,
    type: 'syndicate_member',
    attributes: {
      user_id: row.user_id === null ? null : row.user_no,
      user: row.user_id,
      user_name: row.name,
      user_email: moderator ? row.email : null,
      role: row.role,
      invite_role: row.standing !== 'invitee' ? null : row.invited_permission === null ? 'member' : 'admin',
      syndicate_permission: row.permission,
      title: row.title,
      sort_order: row.sort_order,
      carry_percentage_override: row.carry_percentage_override,
      carry_discount_percentage: row.carry_discount_percentage,
      management_fee_discount_percentage: row.management_fee_discount_percentage,
      public_on_syndicate_profile: row.public_on_syndicate_profile === 1,
      interests: listOf(row.interests),
      stage_preferences: listOf(row.stage_preferences),
      looking_for: listOf(row.looking_for),
      linkedin_url: row.linkedin_url,
      twitter_url: row.twitter_url,
      website: row.website,
      ...locationOf(row),
      avatar_url: row.avatar_url,
      bio: row.bio,
      last_activity_at: isoOrNull(row.last_login_at),
      profile_url: row.username === null ? null : `/${row.username}`,
      tags: listOf(row.tags),
      joined_at: iso(row.created_at),
      investment_total: moderator ? wholeDollars(centsOfSum(row.invested)) : null,
      deal_count: row.deal_count,
      ...(moderator ? forModerators(row) : {}),
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
    },
  };
}

const forModerators = (row: Member) => ({
  accredited: row.accredited === null ? null : row.accredited === 1,
  legal_name: row.legal_name,
  starred: row.starred === 1,
  private_tags: listOf(row.private_tags),
});

export interface MemberLocation {
  readonly city: string | null;
  readonly state: string | null;
  readonly country: string | null;
}

/** Returns no location fields when the member hides them, so their absence reveals nothing. */
export function locationOf(row: Member): Partial<MemberLocation> {
  if (row.hide_location === 1) return {};
  const { city, state, country } = (
    row.location === null ? {} : JSON.parse(row.location)
  ) as Partial<MemberLocation>;
  return { city: city ?? null, state: state ?? null, country: country ?? null };
}

/** Parses a list that this server stored as JSON. */
export const listOf = (text: string | null): string[] =>
  text === null ? [] : (JSON.parse(text) as string[]);
