import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { dollars, pageMeta, pageQuery, timestamp } from './pages.js';
import { centsSum } from './shapes.js';

const syndicateTypes = ['annual_subscription', 'traditional_fund'] as const;

const syndicateResource = z
  .object({
    id: z.string().meta({ example: 'syn_2bX…' }),
    type: z.literal('syndicate'),
    attributes: z.object({
      name: z.string(),
      slug: z.string(),
      tagline: z.string().nullable(),
      description: z.string().nullable(),
      avatar_url: z.string().nullable(),
      published: z.boolean(),
      launched: z.boolean(),
      membership_open: z.boolean(),
      syndicate_type: z.enum(syndicateTypes).nullable().describe('Null when members join deal by deal.'),
      auto_accept_accredited_members: z.boolean(),
      auto_approve_join_sessions: z.boolean(),
      fund_required: z.boolean(),
      annual_subscription: z
        .object({ fund_investment_amount: dollars, deals_per_year: z.int(), amount_per_deal: dollars })
        .optional()
        .describe('Only for its own syndicate_type.'),
      traditional_fund: z
        .object({ require_minimum_investment: z.boolean(), minimum_investment_amount: dollars })
        .optional()
        .describe('Only for its own syndicate_type.'),
      member_count: z.int(),
      deal_count: z.int().describe('Live deals.'),
      primary_fund_company_id: z.int().nullable().meta({ deprecated: true }),
      primary_fund_company: z.string().nullable(),
      created_by_user_id: z.int().nullable().meta({ deprecated: true }),
      created_by: z.string().nullable(),
      created_at: timestamp,
      updated_at: timestamp,
    }),
  })
  .meta({ id: 'Syndicate' });

export type SyndicateResource = z.infer<typeof syndicateResource>;

const statistics = z
  .object({
    type: z.literal('syndicate_statistics'),
    attributes: z.object({
      total_members: z.int().describe('Excludes resigned and exiled members.'),
      members_by_role: z.record(z.string(), z.int()),
      total_deals: z.int(),
      live_deals: z.int(),
      total_raised: dollars,
      total_raised_cents: centsSum,
      total_investors: z.int(),
      recent_activity_count: z.int().describe('Number of activities in the last 30 days.'),
    }),
  })
  .meta({ id: 'SyndicateStatistics' });

const tag = 'Syndicates';
export const syndicateRead = ['read:syndicates'] as const;
export const syndicateWrite = ['write:syndicates'] as const;

export const listSyndicates = operation({
  id: 'listSyndicates',
  method: 'GET',
  path: paths.syndicates,
  tag,
  summary: 'List the syndicates the user manages',
  description: 'The token of an installation or a syndicate lists only the syndicate it acts for.',
  scopes: syndicateRead,
  query: z.object(pageQuery),
  responses: {
    200: {
      description: 'Syndicates, oldest first',
      schema: z.object({ data: z.array(syndicateResource), meta: pageMeta }),
    },
  },
  errors: [400, 403],
});

export const getSyndicate = operation({
  id: 'getSyndicate',
  method: 'GET',
  path: paths.syndicate,
  tag,
  summary: 'Get a syndicate',
  scopes: syndicateRead,
  responses: { 200: { description: 'The syndicate', schema: z.object({ data: syndicateResource }) } },
  errors: [403, 404],
});

const text = (max: number) =>
  z
    .string()
    .max(max)
    .nullable()
    .transform((value) => (value === null || value.trim() === '' ? null : value.trim()));

const updateSyndicateBody = z.object({
  syndicate: z.object({
    name: z.string().trim().min(1).max(120).optional(),
    tagline: text(200).optional(),
    description: text(10_000).optional(),
  }),
});

export const updateSyndicate = operation({
  id: 'updateSyndicate',
  method: 'PATCH',
  path: paths.syndicate,
  tag,
  summary: 'Change the name, tagline or description',
  description:
    'Requires operator permission. Omitted fields keep their value. Other attributes cannot be changed here.',
  scopes: syndicateWrite,
  body: updateSyndicateBody,
  beta: true,
  responses: {
    200: { description: 'The syndicate as it is now', schema: z.object({ data: syndicateResource }) },
  },
  errors: [403, 404, 422],
});

export const getSyndicateStatistics = operation({
  id: 'getSyndicateStatistics',
  method: 'GET',
  path: paths.syndicateStatistics,
  tag,
  summary: 'Get member, deal and money statistics',
  description: 'Requires a manager of the syndicate.',
  scopes: syndicateRead,
  responses: { 200: { description: 'The statistics', schema: z.object({ data: statistics }) } },
  errors: [403, 404],
});
