import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import {
  cents,
  centsSum,
  cursorText,
  decimal,
  dollars,
  exemption,
  flagText,
  labelled,
  listMeta,
  listText,
  perPageText,
  securityKind,
  timestamp,
} from './shapes.js';
import {
  exploreExemptions,
  exploreSorts,
  exploreStatuses,
  offeringStatuses,
  securityTypes,
} from './vocabulary.js';

const flag = z.boolean().nullable();
const money = decimal.nullable();
const rate = decimal.nullable();
const months = z.int().nullable();

const variant = <Type extends string, Terms extends z.ZodRawShape>(type: Type, terms: Terms) =>
  z.object({ type: z.literal(type), label: z.string(), terms: z.object(terms) });

const security = z
  .discriminatedUnion('type', [
    variant('safe', {
      valuation_cap: money,
      uncapped: z.boolean(),
      discount_percent: rate,
      most_favored_nation: z.boolean(),
      pro_rata: z.boolean(),
    }),
    variant('equity', {
      share_price: money,
      pre_money_valuation: money,
      share_class: z.enum(['preferred', 'common']).nullable(),
    }),
    variant('convertible_note', {
      valuation_cap: money,
      uncapped: z.boolean(),
      discount_percent: rate,
      interest_rate_percent: rate,
      maturity_months: months,
      most_favored_nation: z.boolean(),
    }),
    variant('revenue_share', {
      revenue_share_percent: rate,
      repayment_cap_multiple: rate,
      payment_period: z.string().nullable(),
      revenue_basis: z.enum(['gross', 'net']).nullable(),
      secured: flag,
      guarantor: z.string().nullable(),
    }),
    variant('debt', {
      interest_rate_percent: rate,
      maturity_months: months,
      first_payment_date: z.iso.date().nullable(),
    }),
    variant('fund', {}),
    variant('other', {
      name: z.string().nullable(),
      description: z.string().nullable(),
      more_info_url: z.string().nullable(),
    }),
  ])
  .meta({ id: 'Security', description: 'The security on offer and its terms. Amounts are decimal strings.' });

const onlyPersonal = 'Only present in the logged-in view (read:explore with a user).';

const offering = z
  .object({
    id: z.string().describe('ofr_'),
    type: z.literal('offering'),
    attributes: z.object({
      company_name: z.string(),
      tagline: z.string().nullable(),
      url: z.string(),
      card_image_url: z.string().nullable(),
      logo_url: z.string().nullable(),
      exemption,
      security: security.nullable().describe('Null while testing the waters.'),
      intended_security: securityKind.nullable().describe('Only set while testing the waters.'),
      industries: z.array(labelled),
      business_models: z.array(labelled),
      status: z.enum(offeringStatuses),
      testing_the_waters: z.boolean().describe('True while the offering takes non-binding reservations.'),
      funding_target: dollars.nullable(),
      funding_target_cents: cents.nullable(),
      max_funding_target: dollars.nullable(),
      max_funding_target_cents: cents.nullable(),
      min_investment: dollars.nullable(),
      min_investment_cents: cents.nullable(),
      amount_raised: dollars,
      amount_raised_cents: centsSum,
      investor_count: z.int(),
      started_at: timestamp.nullable(),
      closes_at: timestamp.nullable().describe('Null when the round has no closing date or is not open.'),
      closed_at: timestamp.nullable(),
      form_c_url: z.string().nullable(),
      spv_legal_name: z.string().nullable(),
      publicly_visible: z.boolean().optional().describe(onlyPersonal),
      invested: z.boolean().optional().describe(onlyPersonal),
      followed: z.boolean().describe('Always false in the public view.'),
    }),
    company: z.string().nullable().describe('co_'),
    warnings: z.array(
      z.object({
        code: z.string().describe('prior_rounds or concurrent_rounds. More values may be added.'),
        message: z.string(),
      }),
    ),
    etag: z.string().describe('Digest of the attributes.'),
  })
  .meta({ id: 'Offering' });

const dollarText = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,2})?$/, 'a non-negative number of dollars, like 250 or 99.50')
  .meta({ sentAs: 'number' });

export const explore = operation({
  id: 'explore',
  method: 'GET',
  path: paths.explore,
  tag: 'Catalog',
  summary: 'List offerings in the public or the logged-in view',
  scopes: ['read:public', 'read:explore'],
  query: z.object({
    cursor: cursorText.optional(),
    per_page: perPageText.optional().describe('Default 25, at most 100.'),
    status: z.enum(exploreStatuses).optional().describe('Default live.'),
    sort: z.enum(exploreSorts).optional().describe('Default most_raised. Applies to live rounds only.'),
    exemption: z.enum(exploreExemptions).optional(),
    security: z.enum(securityTypes).optional(),
    testing_the_waters: flagText.optional(),
    max_min_investment: dollarText.optional(),
    closing_before: z.string().max(60).optional().describe('ISO 8601 date.'),
    min_amount_raised: dollarText.optional(),
    industry: listText.optional().describe('One value, or several with commas.'),
    business_model: listText.optional().describe('One value, or several with commas.'),
    followed: flagText.optional().describe('Logged-in view only.'),
  }),
  responses: {
    200: {
      description: 'A page of offerings.',
      schema: z.object({
        data: z.array(offering),
        meta: z.object({
          ...listMeta,
          total_count: z.int().describe('Number of offerings on all pages, after filtering.'),
          status: z.enum(exploreStatuses),
          sort: z.enum(exploreSorts).nullable().describe('Null with status=closed, which has a fixed order.'),
          personalized: z.boolean(),
          filters: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])),
        }),
      }),
    },
  },
  errors: [400],
  limits: ['catalogIp'],
});

export const getOffering = operation({
  id: 'getOffering',
  method: 'GET',
  path: paths.offering,
  tag: 'Catalog',
  summary: 'Get an offering',
  description:
    'The header `ETag` has the `etag` of the offering, as a weak validator. With it in `If-None-Match`, an offering whose attributes are the same returns 304 without a body; `warnings` are not part of it.',
  scopes: ['read:public', 'read:explore'],
  responses: {
    200: { description: 'The offering.', schema: z.object({ data: offering }) },
    304: { description: 'The attributes are those of `If-None-Match`.' },
  },
  errors: [404],
  limits: ['catalogIp'],
});

export const catalogOperations = [explore, getOffering] as const;
