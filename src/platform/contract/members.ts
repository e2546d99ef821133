import { z } from 'zod';
import { defined } from '../../domain/defined.js';
import { paths } from '../../wire/paths.js';
import { type Operation, operation } from './operation.js';
import { dollars, flag, pageMeta, pageQuery, timestamp } from './pages.js';
import { centsSum } from './shapes.js';
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
const syndicatePermissions = ['full_access', 'operator'] as const;
export const memberSorts = [
  'newest',
  'oldest',
  'alphabetical',
  'last_activity',
  'investment_amount',
] as const;

const location = z.string().nullable().optional().describe('Omitted when the member hides it.');
const moderators = 'Only visible to managers of the syndicate.';

const memberResource = z
  .object({
    id: z.string().meta({ example: 'mem_2bX…' }),
    type: z.literal('syndicate_member'),
    attributes: z.object({
      user_id: z.int().nullable().meta({ deprecated: true }),
      user: z.string().nullable().describe('Null until an invitation is accepted.'),
      user_name: z.string().nullable(),
      user_email: z.string().nullable().describe(`${moderators} Null for others.`),
      role: z.enum(memberRoles),
      invite_role: z.enum(['admin', 'member']).nullable().describe('The role an open invitation grants.'),
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
  summary: 'List members, invitees and applicants',
  description:
    'Returned in the order set by the syndicate unless `sort` is given. An unknown `sort` is ignored. ' +
    'Members who do not manage the syndicate see its members, without the fields reserved for managers.',
  scopes: syndicateRead,
  query: z.object({
    role: z.enum(memberRoles).optional(),
    permission: z.enum(syndicatePermissions).optional(),
    search: z
      .string()
      .max(200)
      .optional()
      .describe('Matches the name and, for managers of the syndicate, the email.'),
    sort: z
      .string()
      .max(50)
      .optional()
      .describe(`${memberSorts.join(', ')}.`),
    has_invested: flag.optional(),
    accredited: z
      .string()
      .max(20)
      .meta({ sentAs: 'boolean' })
      .optional()
      .describe('true or false. Ignored unless the caller manages the syndicate.'),
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
  summary: 'List the investments of one member in the deals of the syndicate',
  description: moderators,
  scopes: syndicateRead,
  responses: {
    200: {
      description: 'All investments, newest first',
      schema: z.object({
        data: z.array(memberInvestment),
        meta: z.object({ count: z.int(), total_amount: dollars, total_amount_cents: centsSum }),
      }),
    },
  },
  errors: [403, 404],
});

const inviteBody = z.object({
  email: z.email().max(254),
  name: z.string().trim().min(1).max(120).optional(),
  syndicate_permission: z.enum(syndicatePermissions).nullable().default('operator'),
});

export const inviteMember = operation({
  id: 'inviteSyndicateMember',
  method: 'POST',
  path: `${paths.syndicateMembers}/invite`,
  tag,
  summary: 'Invite a person by email',
  description:
    'Only the creator may invite with full_access. A null `syndicate_permission` invites an ordinary member.',
  scopes: syndicateWrite,
  body: inviteBody,
  responses: { 201: { description: 'Invited', schema: single } },
  errors: [403, 404, 422],
});

const updateMemberBody = z.object({
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
  summary: 'Change the title or the carry override',
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
  summary: 'Always rejected: a person must approve removals',
  description: 'Propose the removal with POST /intents and the action `syndicates.remove_member`.',
  scopes: syndicateWrite,
  responses: {},
  errors: [403, 404, 422],
});

const action = (
  id: string,
  name: string,
  summary: string,
  description: string,
  callers?: Operation['callers'],
) =>
  operation({
    id,
    method: 'POST',
    path: `${paths.syndicateMember}/${name}`,
    tag,
    summary,
    description,
    scopes: syndicateWrite,
    ...defined({ callers }),
    responses: answers,
    errors: [403, 404, 422],
  });

export const approveMember = action(
  'approveSyndicateMember',
  'approve',
  'Admit an applicant',
  'An invitee cannot be approved. Invitees join with the link of their invitation.',
);
export const hideMember = action(
  'hideSyndicateMember',
  'hide',
  'Exile a member',
  'Also ends an application or an invitation. A manager of the syndicate can only be exiled by a member with more permission.',
);
export const restoreMember = action(
  'restoreSyndicateMember',
  'restore',
  'Restore an exiled or resigned member',
  'The role becomes member. Earlier permissions are not restored.',
);
export const promoteMember = action(
  'promoteSyndicateMember',
  'promote',
  'Grant full access',
  'Only the creator of the syndicate may promote, in person.',
  ['user'],
);
export const demoteMember = action(
  'demoteSyndicateMember',
  'demote',
  'Reduce full access to operator',
  'Requires full access. The creator cannot be demoted.',
);
export const resendInvite = action(
  'resendSyndicateInvite',
  'resend_invite',
  'Resend an open invitation',
  'Sends the event syndicate_member.reinvited.',
);

const reorderBody = z.object({ member_ids: z.array(z.string()).min(1).max(1000) });

export const reorderMembers = operation({
  id: 'reorderSyndicateMembers',
  method: 'POST',
  path: `${paths.syndicateMembers}/reorder`,
  tag,
  summary: 'Set the order of members',
  description: 'The listed members come first, in this order. The others follow in their previous order.',
  scopes: syndicateWrite,
  body: reorderBody,
  responses: {
    200: {
      description: 'The listed members as they are now, in their new order',
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
  summary: 'Export all members as a CSV file',
  description:
    'Returns text/csv directly. Requires operator permission. Cells that a spreadsheet would read as a formula are prefixed with a quote.',
  scopes: syndicateWrite,
  responses: { 200: { description: 'The file', type: 'text/csv' } },
  errors: [403, 404],
});
