import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { dollars, pageMeta, pageQuery, timestamp } from './pages.js';
import { centsSum, wholeNumberText } from './shapes.js';
import { syndicateRead, syndicateWrite } from './syndicates.js';

export const dealStates = ['upcoming', 'open', 'closed', 'canceled'] as const;

const dealResource = z
  .object({
    id: z.string().meta({ example: 'ofr_2bX…' }),
    type: z.literal('syndicate_deal'),
    attributes: z.object({
      name: z.string(),
      status: z.enum(dealStates),
      company_name: z.string(),
      company_id: z.int().meta({ deprecated: true }),
      company: z.string(),
      company_url: z.string().describe('Slug.'),
      company_logo_url: z.string().nullable(),
      amount_raised: dollars,
      investor_count: z.int(),
      funding_target: z.string().nullable().describe('In cents, unlike the other amounts.'),
      exemption: z.string(),
      security: z.string(),
      min_investment: dollars.nullable(),
      max_investment: dollars.nullable(),
      description: z.string().nullable(),
      created_at: timestamp,
      updated_at: timestamp,
      closed_at: timestamp.nullable(),
      funding_started_at: timestamp.nullable(),
    }),
  })
  .meta({ id: 'SyndicateDeal' });

export type DealResource = z.infer<typeof dealResource>;

const dealInvestor = z
  .object({
    id: z.string().meta({ example: 'usr_2bX…' }),
    type: z.literal('deal_investor'),
    attributes: z.object({
      user_id: z.int().meta({ deprecated: true }),
      user: z.string(),
      user_name: z.string().nullable().describe('Null for an installation without read:investors:pii.'),
      user_email: z.string().nullable().describe('Null unless the caller manages the syndicate.'),
      avatar_url: z.string().nullable(),
      amount: dollars,
      amount_cents: centsSum,
      status: z.enum(['pending', 'confirmed']),
      invested_at: timestamp,
    }),
  })
  .meta({ id: 'DealInvestor' });

export const readinessChecks = [
  'syndicate_published',
  'terms_complete',
  'open',
  'target_reached',
  'investments_confirmed',
] as const;

const readiness = z
  .object({
    id: z.string(),
    type: z.literal('deal_readiness'),
    attributes: z.object({
      ready: z.boolean().describe('True when every check passed and the deal can be closed.'),
      checks: z.array(z.object({ code: z.enum(readinessChecks), passed: z.boolean(), message: z.string() })),
    }),
  })
  .meta({ id: 'DealReadiness' });

const statistics = z
  .object({
    id: z.string(),
    type: z.literal('deal_statistics'),
    attributes: z.object({
      amount_raised: dollars,
      amount_raised_cents: centsSum,
      amount_committed_cents: centsSum,
      investor_count: z.int(),
      investments_by_status: z.object({ pending: z.int(), confirmed: z.int() }),
      average_investment_cents: z.int(),
      funding_target_cents: z.int().nullable(),
      percent_funded: z
        .int()
        .nullable()
        .describe('Whole percent of the funding target; null without a target.'),
    }),
  })
  .meta({ id: 'DealStatistics' });

const tag = 'Syndicate deals';
const single = z.object({ data: dealResource });

export const listDeals = operation({
  id: 'listSyndicateDeals',
  method: 'GET',
  path: paths.syndicateDeals,
  tag,
  summary: 'List the live deals of the syndicate',
  scopes: syndicateRead,
  query: z.object(pageQuery),
  responses: {
    200: {
      description: 'Deals, newest first',
      schema: z.object({ data: z.array(dealResource), meta: pageMeta }),
    },
  },
  errors: [400, 403, 404],
});

export const getDeal = operation({
  id: 'getSyndicateDeal',
  method: 'GET',
  path: paths.syndicateDeal,
  tag,
  summary: 'Get a deal',
  scopes: syndicateRead,
  responses: { 200: { description: 'The deal', schema: single } },
  errors: [403, 404],
});

const cents = z.int().min(1).max(1e13);

export const createDealBody = z.object({
  deal: z
    .object({
      company: z
        .string()
        .max(100)
        .describe(
          'co_ id. The user must be an editor of the company; for an installation, a manager of the syndicate must be.',
        ),
      name: z.string().trim().min(1).max(120).optional(),
      description: z.string().max(10_000).optional(),
      security: z.enum(['SAFE', 'Equity', 'Convertible Note']).default('SAFE'),
      exemption: z.enum(['Reg CF', 'Reg D', 'ECSP']).default('Reg D'),
      funding_target_cents: cents.optional(),
      min_investment_cents: cents.optional(),
      max_investment_cents: cents.optional(),
    })
    .refine(
      (deal) => (deal.min_investment_cents ?? 0) <= (deal.max_investment_cents ?? Number.POSITIVE_INFINITY),
      { message: 'must not be less than min_investment_cents', path: ['max_investment_cents'] },
    ),
});

export const createDeal = operation({
  id: 'createSyndicateDeal',
  method: 'POST',
  path: paths.syndicateDeals,
  tag,
  summary: 'Create a deal',
  description:
    'The deal is `upcoming` and visible only to managers of the syndicate until the platform opens it.',
  scopes: syndicateWrite,
  body: createDealBody,
  responses: { 201: { description: 'The deal', schema: single } },
  errors: [403, 404, 422],
});

export const getDealReadiness = operation({
  id: 'getSyndicateDealReadiness',
  method: 'GET',
  path: `${paths.syndicateDeal}/readiness`,
  tag,
  summary: 'Get the checks a deal must pass before it can be closed',
  scopes: syndicateRead,
  responses: { 200: { description: 'The checks', schema: z.object({ data: readiness }) } },
  errors: [403, 404],
});

export const listDealInvestors = operation({
  id: 'listSyndicateDealInvestors',
  method: 'GET',
  path: `${paths.syndicateDeal}/investors`,
  tag,
  summary: 'List the members who invested, largest amount first',
  scopes: syndicateRead,
  query: z.object({
    offset: wholeNumberText.optional().describe('Default 0.'),
    per_page: wholeNumberText.optional().describe('At most 200. Without it, all investors are returned.'),
  }),
  responses: {
    200: {
      description: 'Investors',
      schema: z.object({
        data: z.array(dealInvestor),
        meta: z.object({
          count: z.int(),
          total_count: z.int(),
          offset: z.int(),
          per_page: z.int().nullable(),
          has_more: z.boolean(),
        }),
      }),
    },
  },
  errors: [400, 403, 404],
});

export const getDealStatistics = operation({
  id: 'getSyndicateDealStatistics',
  method: 'GET',
  path: `${paths.syndicateDeal}/statistics`,
  tag,
  summary: 'Get the statistics of a deal',
  scopes: syndicateRead,
  responses: { 200: { description: 'The statistics', schema: z.object({ data: statistics }) } },
  errors: [403, 404],
});

const proposal = z.object({ id: z.string(), status: z.string(), review_url: z.string() });

export const closeDeal = operation({
  id: 'closeSyndicateDeal',
  method: 'POST',
  path: `${paths.syndicateDeal}/close`,
  tag,
  summary: 'Propose to close the deal',
  scopes: syndicateWrite,
  removedIn: '2026-10-15',
  responses: {
    200: {
      description: 'The deal, unchanged, and the intent a person decides on',
      schema: z.object({ data: dealResource, meta: z.object({ close_deal_intent: proposal }) }),
    },
  },
  errors: [403, 404, 422],
  limits: ['pendingIntents'],
});

export const finalizeDeal = operation({
  id: 'finalizeSyndicateDeal',
  method: 'POST',
  path: `${paths.syndicateDeal}/finalize`,
  tag,
  summary: 'Propose to finalize the deal',
  scopes: syndicateWrite,
  removedIn: '2026-10-15',
  responses: {
    200: {
      description: 'The deal, unchanged, and the intent a person decides on',
      schema: z.object({ data: dealResource, meta: z.object({ finalize_deal_intent: proposal }) }),
    },
  },
  errors: [403, 404, 422],
  limits: ['pendingIntents'],
});
