import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { perPageText } from './shapes.js';

const tag = 'Attribution';
const timestamp = z.iso.datetime();
const meta = z.object({ request_id: z.string() });
const anyTier = ['read:attribution:aggregate'] as const;
const anonymizedTier = ['read:attribution:anonymized'] as const;
const write = ['write:attribution'] as const;

const filters = {
  start_date: z.iso.date().optional().describe('Defaults to 90 days ago.'),
  end_date: z.iso.date().optional().describe('Defaults to today.'),
  utm_source: z.string().max(200).optional(),
  utm_campaign: z.string().max(200).optional(),
};

const slice = z.object({ name: z.string().nullable(), investment_count: z.int(), total_amount: z.number() });

export const attributionStats = operation({
  id: 'getAttributionStats',
  method: 'GET',
  path: paths.attributionStats,
  tag,
  summary: 'Get the referral totals of an offering',
  scopes: anyTier,
  query: z.object(filters),
  responses: {
    200: {
      description: 'Totals.',
      schema: z.object({
        data: z.object({
          campaign_id: z.string().describe('ofr_'),
          period: z.object({ start_date: z.iso.date(), end_date: z.iso.date() }),
          totals: z.object({
            investment_count: z.int(),
            total_amount: z.number(),
            unique_investors: z.int(),
            conversion_rate: z
              .number()
              .describe('Investments divided by checkouts started from a referral link.'),
          }),
          quality_breakdown: z.object({ direct: z.int(), assisted: z.int(), delayed: z.int() }),
          by_source: z.array(slice),
          by_campaign: z.array(slice),
        }),
        meta,
      }),
    },
  },
  errors: [400, 403, 404],
});

const bucket = z.enum(['draft', 'no_payment_yet', 'pending', 'is_ready', 'confirmed', 'canceled']);

const row = z.object({
  investment_token: z.string(),
  investor_token: z.string(),
  amount_tier: z.enum(['small', 'medium', 'large']),
  invested_at: timestamp,
  status: z.object({ bucket, progress_bar: z.boolean() }),
  attribution: z.object({
    utm_source: z.string().nullable(),
    utm_campaign: z.string().nullable(),
    utm_medium: z.string().nullable(),
    utm_content: z.string().nullable(),
    clicked_at: timestamp,
    time_to_invest_bucket: z.enum(['direct', 'assisted', 'delayed']),
    quality_score: z.enum(['high', 'medium', 'low', 'suspicious']),
    competing_sources: z.int(),
  }),
  investment_id: z.string().optional(),
  investor: z
    .object({ id: z.string(), name: z.string(), email: z.string().nullable(), username: z.string() })
    .optional(),
  amount: z.number().optional(),
});

export type AttributedInvestment = z.infer<typeof row>;

export const attributionInvestments = operation({
  id: 'listAttributedInvestments',
  method: 'GET',
  path: paths.attributionInvestments,
  tag,
  summary: 'List the referred investments of an offering, newest first',
  scopes: anonymizedTier,
  query: z.object({
    ...filters,
    detail_level: z
      .enum(['anonymized', 'full'])
      .default('anonymized')
      .describe('full requires read:attribution:full.'),
    cursor: z.string().max(200).optional(),
    per_page: perPageText.optional(),
  }),
  responses: {
    200: {
      description: 'A page of referred investments.',
      schema: z.object({
        data: z.array(row),
        meta: z.object({
          has_more: z.boolean(),
          page_count: z.int(),
          next_cursor: z.string().nullable(),
          request_id: z.string(),
          detail_level: z.enum(['anonymized', 'full']),
          can_view_full: z.boolean(),
        }),
      }),
    },
  },
  errors: [400, 403, 404],
});

const partner = z.object({
  company_name: z.string(),
  website: z.string(),
  status: z.enum(['pending', 'approved', 'rejected']),
  created_at: timestamp,
});
export type PartnerResource = z.infer<typeof partner>;

export const attributionMe = operation({
  id: 'getAttributionMe',
  method: 'GET',
  path: paths.attributionMe,
  tag,
  summary: 'Get the user and their partner status',
  scopes: anyTier,
  callers: ['user'],
  responses: {
    200: {
      description: 'The user; partner is null when they never applied.',
      schema: z.object({
        data: z.object({ user: z.object({ id: z.string(), name: z.string() }), partner: partner.nullable() }),
        meta,
      }),
    },
  },
  errors: [403],
});

export const attributionCampaigns = operation({
  id: 'listAttributionCampaigns',
  method: 'GET',
  path: paths.attributionCampaigns,
  tag,
  summary: 'List the offerings whose attribution the user may read',
  scopes: anyTier,
  responses: {
    200: {
      description: 'All of them.',
      schema: z.object({
        data: z.array(
          z.object({
            id: z.string().describe('ofr_'),
            company: z.string(),
            company_name: z.string(),
            access_level: z.union([z.literal(1), z.literal(2)]).describe('1 anonymized, 2 detailed'),
          }),
        ),
        meta,
      }),
    },
  },
  errors: [403],
});

export const registerPartner = operation({
  id: 'registerAttributionPartner',
  method: 'POST',
  path: paths.attributionPartner,
  tag,
  summary: 'Apply to become a partner',
  scopes: write,
  callers: ['user'],
  body: z.object({
    company_name: z.string().trim().min(1).max(200),
    website: z.url({ protocol: /^https?$/ }).max(500),
  }),
  responses: {
    201: { description: 'The application is pending approval.', schema: z.object({ data: partner, meta }) },
  },
  errors: [403, 409, 422],
});

const invite = z.object({
  token: z.string(),
  direction: z.enum(['partner_to_founder', 'founder_to_partner']),
  company_id: z.string(),
  partner_email: z.string().nullable(),
  access_level: z.union([z.literal(1), z.literal(2)]),
  status: z.enum(['pending', 'accepted', 'expired', 'revoked']),
  created_at: timestamp,
  expires_at: timestamp,
});
export type AttributionInvite = z.infer<typeof invite>;

export const listAttributionInvites = operation({
  id: 'listAttributionInvites',
  method: 'GET',
  path: paths.attributionInvites,
  tag,
  summary: 'List the invites the user created, newest first',
  scopes: write,
  callers: ['user'],
  responses: { 200: { description: 'All of them.', schema: z.object({ data: z.array(invite), meta }) } },
  errors: [403],
});

export const createAttributionInvite = operation({
  id: 'createAttributionInvite',
  method: 'POST',
  path: paths.attributionInvites,
  tag,
  summary: 'Offer or request access to attribution data',
  scopes: write,
  callers: ['user'],
  body: z.object({
    direction: z.enum(['partner_to_founder', 'founder_to_partner']),
    company_id: z.string().max(200),
    partner_email: z.email().max(254).nullable().optional(),
    access_level: z.union([z.literal(1), z.literal(2)]).default(1),
  }),
  responses: { 201: { description: 'Created.', schema: z.object({ data: invite, meta }) } },
  errors: [403, 404, 422],
});

export const revokeAttributionInvite = operation({
  id: 'revokeAttributionInvite',
  method: 'DELETE',
  path: paths.attributionInvite,
  tag,
  summary: 'Revoke an invite',
  scopes: write,
  callers: ['user'],
  responses: { 204: { description: 'Revoked.' } },
  errors: [403, 404],
});
