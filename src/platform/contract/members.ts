import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { dollars, flag, pageMeta, pageQuery, timestamp } from './pages.js';
import { syndicateRead, syndicateWrite } from './syndicates.js';

export const memberRoles = [
  'creator',
  'manager',
  'member',
  'invitee',
  'applicant',
  'exiled',
  'resigned',
] as const;
export const syndicatePermissions = ['full_access', 'operator'] as const;
export const memberSorts = [
  'newest',
  'oldest',
  'alphabetical',
  'last_activity',
  'investment_amount',
] as const;

const location = z.string().nullable().optional().describe('Left out when the member hides it.');
const moderators = 'Only for those who run the syndicate.';

export const memberResource = z
  .object({
    id: z.string().meta({ example: 'mem_2bX…' }),
    type: z.literal('syndicate_member'),
    attributes: z.object({
      user_id: z.int().nullable().meta({ deprecated: true }),
      user: z.string().nullable().describe('Null until an invitation is accepted.'),
      user_name: z.string().nullable(),
      user_email: z.string().nullable().describe(`${moderators} Null for others.`),
      role: z.enum(memberRoles),
      invite_role: z.enum(['admin', 'member']).nullable().describe('What an open invitation leads to.'),
      syndicate_permission: z.enum(syndicatePermissions).nullable(),
      title: z.string().nullable(),
      sort_order: z.int(),
      carry_percentage_override: z.int().nullable(),
      carry_discount_percentage: z.number(),
      management_fee_discount_percentage: z.number(),
      public_on_syndicate_profile: z.boolean(),
      interests: z.array(z.string()),
      stage_preferences: z.array(z.string()),
      looking_for: z.array(z.string()),
      linkedin_url: z.string().nullable(),
      twitter_url: z.string().nullable(),
      website: z.string().nullable(),
      city: location,
      state: location,
      country: location,
      avatar_url: z.string().nullable(),
      bio: z.string().nullable(),
      last_activity_at: timestamp.nullable(),
      profile_url: z.string().nullable().describe('A path on the site.'),
      tags: z.array(z.string()),
      joined_at: timestamp,
      investment_total: dollars.nullable().describe(`${moderators} Null for others.`),
      deal_count: z.int(),
      accredited: z.boolean().nullable().optional().describe(moderators),
      legal_name: z.string().nullable().optional().describe(moderators),
      starred: z.boolean().optional().describe(moderators),
      private_tags: z.array(z.string()).optional().describe(moderators),
      created_at: timestamp,
      updated_at: timestamp,
    }),
  })
  .meta({ id: 'SyndicateMember' });

export type MemberResource = z.infer<typeof memberResource>;

const memberInvestment = z
  .object({
    id: z.string(),
    type: z.literal('member_investment'),
    attributes: z.object({
      fundraise_id: z.int().meta({ deprecated: true }),
      offering: z.string(),
      company_name: z.string(),
      amount: dollars,
      amount_cents: z.int(),
      status: z.enum(['pending', 'confirmed']),
      created_at: timestamp,
    }),
  })
  .meta({ id: 'MemberInvestment' });

const tag = 'Syndicate members';
const single = z.object({ data: memberResource });
const answers = { 200: { description: 'The member as it is now', schema: single } } as const;

export const listMembers = operation({
  id: 'listSyndicateMembers',
  method: 'GET',
  path: paths.syndicateMembers,
  tag,
  summary: 'Members, invitees and applicants',
  description:
    'In the order the syndicate gave them unless `sort` says otherwise; an unknown `sort` is that order too. ' +
    'Members who do not run the syndicate see its members, without what is for those who do.',
  scopes: syndicateRead,
  query: z.object({
    role: z.enum(memberRoles).optional(),
    permission: z.enum(syndicatePermissions).optional(),
    search: z.string().max(200).optional().describe('Name or, for those who run the syndicate, email.'),
    sort: z
      .string()
      .max(50)
      .optional()
      .describe(`${memberSorts.join(', ')}.`),
    has_invested: flag.optional(),
    accredited: z.string().max(20).optional().describe(`true or false. ${moderators} Ignored for others.`),
    tag: z.string().max(200).optional(),
    location: z.string().max(200).optional().describe('City, state or country.'),
    ...pageQuery,
  }),
  responses: {
    200: { description: 'Members', schema: z.object({ data: z.array(memberResource), meta: pageMeta }) },
  },
  errors: [400, 403, 404],
});

export const listMemberInvestments = operation({
  id: 'listMemberInvestments',
  method: 'GET',
  path: `${paths.syndicateMember}/investments`,
  tag,
  summary: 'What one member invested in the deals of the syndicate',
  description: moderators,
  scopes: syndicateRead,
  responses: {
    200: {
      description: 'Newest first, all of them',
      schema: z.object({
        data: z.array(memberInvestment),
        meta: z.object({ count: z.int(), total_amount: dollars, total_amount_cents: z.int() }),
      }),
    },
  },
  errors: [403, 404],
});

export const inviteBody = z.object({
  email: z.email().max(254),
  name: z.string().trim().min(1).max(120).optional(),
  syndicate_permission: z.enum(syndicatePermissions).nullable().default('operator'),
});

export const inviteMember = operation({
  id: 'inviteSyndicateMember',
  method: 'POST',
  path: `${paths.syndicateMembers}/invite`,
  tag,
  summary: 'Invite somebody by email',
  description:
    'Only the creator may invite with full_access. A null `syndicate_permission` invites an ordinary member.',
  scopes: syndicateWrite,
  body: inviteBody,
  responses: { 201: { description: 'Invited', schema: single } },
  errors: [403, 404, 422],
});

export const updateMemberBody = z.object({
  member: z.object({
    title: z.string().trim().max(120).nullable().optional(),
    carry_percentage_override: z.int().min(1).max(100).nullable().optional(),
  }),
});

export const updateMember = operation({
  id: 'updateSyndicateMember',
  method: 'PATCH',
  path: paths.syndicateMember,
  tag,
  summary: 'Change title or carry override',
  scopes: syndicateWrite,
  body: updateMemberBody,
  responses: answers,
  errors: [403, 404, 422],
});

export const removeMember = operation({
  id: 'removeSyndicateMember',
  method: 'DELETE',
  path: paths.syndicateMember,
  tag,
  summary: 'Always refused: a person approves removals',
  description: 'Propose it with POST /intents, action `syndicates.remove_member`.',
  scopes: syndicateWrite,
  responses: {},
  errors: [403, 404, 422],
});

const action = (id: string, name: string, summary: string, description: string) =>
  operation({
    id,
    method: 'POST',
    path: `${paths.syndicateMember}/${name}`,
    tag,
    summary,
    description,
    scopes: syndicateWrite,
    responses: answers,
    errors: [403, 404, 422],
  });

export const approveMember = action(
  'approveSyndicateMember',
  'approve',
  'Admit an applicant',
  'An invitee cannot be approved: it accepts the link of its invitation.',
);
export const hideMember = action(
  'hideSyndicateMember',
  'hide',
  'Exile a member',
  'Also ends an application or an invitation. Whoever runs the syndicate is exiled only by somebody of more permission.',
);
export const restoreMember = action(
  'restoreSyndicateMember',
  'restore',
  'Take an exiled or resigned member back',
  'The role becomes member, without the permission it may have had.',
);
export const promoteMember = action(
  'promoteSyndicateMember',
  'promote',
  'Give full access',
  'For the creator of the syndicate alone.',
);
export const demoteMember = action(
  'demoteSyndicateMember',
  'demote',
  'Take full access down to operator',
  'Needs full access. The creator cannot be demoted.',
);
export const resendInvite = action(
  'resendSyndicateInvite',
  'resend_invite',
  'Send an open invitation again',
  'Announced as reinvited.',
);

export const reorderBody = z.object({ member_ids: z.array(z.string()).min(1).max(1000) });

export const reorderMembers = operation({
  id: 'reorderSyndicateMembers',
  method: 'POST',
  path: `${paths.syndicateMembers}/reorder`,
  tag,
  summary: 'Set the order of members',
  description: 'The named ones come first, in this order; the others follow as they stood.',
  scopes: syndicateWrite,
  body: reorderBody,
  responses: {
    200: {
      description: 'The named members as they are now, in their order',
      schema: z.object({ data: z.array(memberResource), meta: z.object({ count: z.int() }) }),
    },
  },
  errors: [403, 404, 422],
});

export const exportMembers = operation({
  id: 'exportSyndicateMembers',
  method: 'POST',
  path: `${paths.syndicateMembers}/export_csv`,
  tag,
  summary: 'All members as a CSV file',
  description:
    'text/csv, answered directly. Needs operator permission. A cell that a spreadsheet would take for a formula begins with a quote.',
  scopes: syndicateWrite,
  responses: { 200: { description: 'The file', type: 'text/csv' } },
  errors: [403, 404],
});
