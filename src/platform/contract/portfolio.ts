import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import {
  cents,
  centsSum,
  cursorText,
  date,
  decimal,
  idText,
  listMeta,
  perPageText,
  securityKind,
  timestamp,
} from './shapes.js';
import { exitReasons, positionStatuses } from './vocabulary.js';

const money = {
  cost_basis_cents: centsSum,
  current_value_cents: centsSum,
  unrealized_gain_cents: centsSum.describe('May be negative.'),
  realized_gain_cents: centsSum,
  return_multiple: decimal.nullable().describe('Null when the cost basis is zero.'),
  shares_held: decimal.nullable(),
  current_share_price: decimal.nullable().describe('Null when the shares have different prices.'),
};

const holding = {
  security: securityKind.nullable(),
  early_bird: z.boolean(),
  terms: z.object({
    share_price: decimal.nullable(),
    note_cap_cents: cents.nullable().describe('Null when zero.'),
    note_discount: decimal.nullable().describe('Null when zero.'),
    premoney_valuation_cents: cents.nullable(),
    uncapped: z.boolean(),
  }),
  ...money,
  invested_at: timestamp,
};

const position = {
  offering_id: z.string(),
  company: z.object({ id: z.string(), name: z.string(), slug: z.string(), url: z.string() }),
  asset_type: z.enum(['company', 'fund']),
  security: securityKind.nullable(),
  status: z.enum(positionStatuses),
  exit_reason: z.enum(exitReasons).nullable(),
  exited_on: date.nullable(),
  invested_at: timestamp,
  currency: z.string(),
  ...money,
  holdings: z.array(
    z.object({
      company: z.object({ id: z.string(), name: z.string() }),
      status: z.enum(['active', 'failed', 'exited']),
    }),
  ),
  as_of: timestamp,
};

const owner = z.object({ kind: z.enum(['individual', 'entity']), name: z.string().optional() });

const portfolioPosition = z
  .object({
    id: z.string().describe('ofr_'),
    type: z.literal('portfolio_position'),
    attributes: z.object({ ...position, securities: z.array(z.object({ ...holding, owner })) }),
  })
  .meta({ id: 'PortfolioPosition' });

const syndicatePosition = z
  .object({
    id: z.string().describe('ofr_'),
    type: z.literal('syndicate_portfolio_position'),
    attributes: z.object({
      ...position,
      investor_count: z.int(),
      securities: z.array(z.object({ ...holding, investor_count: z.int() })),
    }),
  })
  .meta({ id: 'SyndicatePortfolioPosition' });

const counts = z.object({ active: z.int(), exited: z.int(), sold: z.int(), failed: z.int() });
const summary = {
  currency: z.string(),
  total_cost_basis_cents: centsSum,
  total_current_value_cents: centsSum,
  total_unrealized_gain_cents: centsSum,
  total_realized_gain_cents: centsSum,
  return_multiple: decimal.nullable(),
  as_of: timestamp,
};

const filters = {
  status: z.enum(positionStatuses).optional(),
  company: idText.optional().describe('co_'),
};
const paging = { cursor: cursorText.optional(), per_page: perPageText.optional() };

export const getPortfolio = operation({
  id: 'getPortfolio',
  method: 'GET',
  path: paths.portfolio,
  tag: 'Portfolio',
  summary: 'Get the totals of the user’s positions',
  scopes: ['read:investments'],
  callers: ['user'],
  query: z.object(filters),
  responses: {
    200: {
      description: 'The sums.',
      schema: z.object({
        data: z
          .object({
            type: z.literal('portfolio_summary'),
            attributes: z.object({ ...summary, position_counts: counts }),
          })
          .meta({ id: 'PortfolioSummary' }),
      }),
    },
  },
  errors: [400, 403, 404],
});

export const listPositions = operation({
  id: 'listPortfolioPositions',
  method: 'GET',
  path: paths.portfolioPositions,
  tag: 'Portfolio',
  summary: 'List the user’s positions, newest first',
  scopes: ['read:investments'],
  callers: ['user'],
  query: z.object({ ...filters, ...paging }),
  responses: {
    200: {
      description: 'A page of positions.',
      schema: z.object({ data: z.array(portfolioPosition), meta: z.object(listMeta) }),
    },
  },
  errors: [400, 403, 404],
});

export const getSyndicatePortfolio = operation({
  id: 'getSyndicatePortfolio',
  method: 'GET',
  path: paths.syndicatePortfolio,
  tag: 'Portfolio',
  summary: 'Get the totals of a syndicate’s deals',
  scopes: ['read:syndicates'],
  query: z.object(filters),
  responses: {
    200: {
      description: 'The sums.',
      schema: z.object({
        data: z
          .object({
            type: z.literal('syndicate_portfolio_summary'),
            attributes: z.object({ ...summary, deal_counts: counts, investor_count: z.int() }),
          })
          .meta({ id: 'SyndicatePortfolioSummary' }),
      }),
    },
  },
  errors: [400, 403, 404],
});

export const listSyndicatePositions = operation({
  id: 'listSyndicatePortfolioPositions',
  method: 'GET',
  path: paths.syndicatePositions,
  tag: 'Portfolio',
  summary: 'List the deals of a syndicate as positions, newest first',
  scopes: ['read:syndicates'],
  query: z.object({ ...filters, ...paging }),
  responses: {
    200: {
      description: 'A page of positions.',
      schema: z.object({ data: z.array(syndicatePosition), meta: z.object(listMeta) }),
    },
  },
  errors: [400, 403, 404],
});
