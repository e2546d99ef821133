import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { centsSum, wholeNumberText } from './shapes.js';

export const investmentStatusNames = [
  'reserved',
  'active',
  'executed',
  'canceled',
  'converted',
  'needs_whitelisting',
] as const;

const timestamp = z.iso.datetime({ offset: true });
const cents = z.int();

const reason = z
  .enum(['changed', 'recomputed', 'reprojected', 'investor_deactivated'])
  .nullable()
  .describe('Why the record was published; null outside the feed. More values may be added.');
const cursor = z.string().nullable().describe('Position of this change in the feed; null outside the feed.');

const address = z.looseObject({
  line: z.string().nullable(),
  city: z.string().nullable(),
  state: z.string().nullable(),
  postal_code: z.string().nullable(),
  country: z.string().nullable(),
});

const investor = z.looseObject({
  id: z.string().describe('usr_'),
  deactivated: z.boolean(),
  via_entity: z.boolean(),
  name: z
    .string()
    .optional()
    .describe('Omitted without read:investors:pii, like legal_name, email, address and bio.'),
  legal_name: z.string().optional(),
  email: z.string().nullable().optional(),
  address: address.nullable().optional(),
  bio: z.string().nullable().optional(),
});

export const investmentRecord = z
  .looseObject({
    id: z.string().describe('inv_'),
    visible: z
      .boolean()
      .describe(
        'True when founders can see the record. False together with a status: a canceled investment of the caller.',
      ),
    status: z.enum(investmentStatusNames),
    converted_to: z.string().nullable(),
    converted_from: z.string().nullable(),
    offering: z.string().describe('ofr_'),
    company: z.string().describe('co_'),
    investment_type: z.string(),
    offering_type: z.string(),
    group: z.string().nullable(),
    applied_at: timestamp,
    amounts: z.looseObject({
      currency: z.string().describe('Lowercase ISO 4217 code.'),
      committed_cents: cents,
      investment_size_cents: cents,
      in_escrow_cents: cents.nullable(),
      raised_cents: cents.describe('Amount counted in the public raised total.'),
    }),
    shares: z.string().nullable(),
    average_share_price: z.string().nullable(),
    needs_whitelisting: z.boolean(),
    investor,
    blockers: z.array(z.looseObject({ key: z.string(), description: z.string().nullable() })),
    contracts: z.array(
      z.looseObject({
        name: z.string().nullable(),
        override_amount_cents: cents.nullable(),
        early_bird: z.boolean(),
      }),
    ),
    external_username: z.string().nullable().optional(),
    message: z.string().nullable().optional(),
    observed_at: timestamp,
    cursor,
    reason,
  })
  .meta({ id: 'Investment' });

export const investmentTombstone = z
  .strictObject({
    id: z.string(),
    visible: z.literal(false),
    observed_at: timestamp,
    cursor: z.string(),
    reason,
  })
  .meta({
    id: 'InvestmentTombstone',
    description: 'Delete your copy of the record. A tombstone has no `status`.',
  });

const pageMeta = {
  mode: z.enum(['bootstrap', 'delta']),
  has_more: z.boolean(),
  next_cursor: z
    .string()
    .describe('The position to persist. Present on every page, including the last and an empty one.'),
  page_count: z.int().describe('Records on this page.'),
  published_through: timestamp,
};
const items = z.array(z.union([investmentRecord, investmentTombstone]));

const filterText = z.string().min(1).max(200);
const cursorText = z
  .string()
  .max(500)
  .describe('A next_cursor, unchanged. It does not carry filters: send them again.');
const perPageText = wholeNumberText.describe('Default 25, at most 100.');

export const listInvestments = operation({
  id: 'listInvestments',
  method: 'GET',
  path: paths.investments,
  tag: 'Investments',
  summary: 'List or sync the investment records the token may see',
  scopes: ['read:investments'],
  query: z.object({
    company_id: filterText.optional(),
    offering_id: filterText.optional(),
    investor_id: filterText.optional(),
    status: z.enum(investmentStatusNames).optional().describe('Only valid in a listing, not in the feed.'),
    cursor: cursorText.optional(),
    updated_since: z.string().max(60).optional().describe('ISO 8601. Ignored when cursor is given.'),
    per_page: perPageText.optional(),
  }),
  responses: {
    200: {
      description: 'A page of a listing (`bootstrap`) or of the feed (`delta`).',
      schema: z.object({
        data: items,
        meta: z.object(pageMeta),
      }),
    },
  },
  errors: [400, 403, 404, 410],
});

export const getInvestment = operation({
  id: 'getInvestment',
  method: 'GET',
  path: paths.investment,
  tag: 'Investments',
  summary: 'Get a record as computed now',
  scopes: ['read:investments'],
  responses: {
    200: {
      description: 'The current record, published or not.',
      schema: z.object({
        data: investmentRecord,
        meta: z.object({
          source: z.literal('current'),
          published_observed_at: timestamp.nullable(),
          published_matches: z.boolean().nullable(),
        }),
      }),
    },
  },
  errors: [403, 404],
});

const totals = z.object({ count: z.int(), committed_cents: centsSum, raised_cents: centsSum });

export const getOfferingStats = operation({
  id: 'getOfferingStats',
  method: 'GET',
  path: paths.offeringStats,
  tag: 'Investments',
  summary: 'Get the totals of an offering by status, computed from the published founder-visible records',
  scopes: ['read:investments'],
  responses: {
    200: {
      description: 'The totals match a listing with the same offering_id.',
      schema: z.object({
        data: z.object({
          offering: z.string(),
          company: z.string(),
          currency: z.string().nullable(),
          by_status: z.record(z.string(), totals),
          total: totals,
        }),
        meta: z.object({ source: z.literal('published'), published_through: timestamp }),
      }),
    },
  },
  errors: [403, 404],
});

export const listCompanyChanges = operation({
  id: 'listCompanyInvestmentChanges',
  method: 'GET',
  path: paths.companyChanges,
  tag: 'Investments',
  summary: 'Alias of GET /investments?company_id=…',
  scopes: ['read:investments', 'read:companies'],
  deprecated: true,
  query: z.object({ cursor: cursorText.optional(), per_page: perPageText.optional() }),
  responses: {
    200: {
      description: 'A page as GET /investments returns it.',
      schema: z.object({ data: items, meta: z.object({ ...pageMeta, company_id: z.string() }) }),
    },
  },
  errors: [400, 403, 404, 410],
});
