import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { getDisclosures } from './company-disclosures.js';
import { getPitch } from './company-pitch.js';
import { getUpdate, listQuestions, listUpdates } from './company-tabs.js';
import { operation } from './operation.js';
import { centsSum, dollars, exemption, perPageText, securityKind, timestamp } from './shapes.js';

const scopes = ['read:public', 'read:explore'] as const;
const text = z.string().nullable();

const company = z
  .object({
    id: z.string().describe('co_'),
    type: z.literal('company'),
    attributes: z.object({
      name: z.string(),
      tagline: text,
      url: text,
      logo_url: text,
      card_image_url: text,
      location: z.object({ city: text, state: text, country: text }),
      raising: z.boolean(),
      current_raise: z
        .object({
          offering_id: z.string(),
          offering_ids: z.array(z.string()).describe('Every open offering of the raise.'),
          testing_the_waters: z.boolean(),
          amount_raised: dollars,
          amount_raised_cents: centsSum,
          funding_target: dollars.nullable(),
          funding_target_cents: centsSum.nullable(),
          investor_count: z.int(),
          oversubscribed: z.boolean(),
          closes_at: timestamp.nullable(),
        })
        .nullable(),
      past_rounds: z
        .array(
          z.object({
            offering_id: text.describe('Null for a round reported by the company.'),
            source: z.enum(['service', 'reported']),
            exemption,
            amount_raised: dollars,
            amount_raised_cents: centsSum,
            investor_count: z.int().nullable(),
            opened_at: timestamp.nullable(),
            closed_at: timestamp.nullable(),
          }),
        )
        .describe('Past rounds counted in the raised total of the company page.'),
      service_rounds: z
        .array(
          z.object({
            offering_id: z.string(),
            current: z
              .boolean()
              .describe(
                'Part of current_raise. False for open reservations beside a round that takes money.',
              ),
            status: z.enum(['open', 'closed']),
            exemption,
            security: securityKind.nullable(),
            amount_raised: dollars,
            amount_raised_cents: centsSum,
            investor_count: z.int(),
            opened_at: timestamp.nullable(),
            closed_at: timestamp.nullable(),
          }),
        )
        .describe('Every round on this platform that the viewer may see, newest first.'),
      totals: z.object({
        raised_on_service_all_time: dollars,
        raised_on_service_all_time_cents: centsSum,
        profile_total_raised: dollars,
        profile_total_raised_cents: centsSum,
        profile_reported_off_platform: dollars,
        profile_reported_off_platform_cents: centsSum,
        profile_includes_past_rounds: z
          .boolean()
          .nullable()
          .describe('Whether profile_total_raised counts past rounds; null without past rounds.'),
      }),
    }),
  })
  .meta({ id: 'Company' });

export const getCompany = operation({
  id: 'getCompany',
  method: 'GET',
  path: paths.company,
  tag: 'Companies',
  summary: 'Get a company as its page shows it to this viewer',
  scopes,
  responses: { 200: { description: 'The company.', schema: z.object({ data: company }) } },
  errors: [404],
});

const cardAttributes = {
  name: z.string(),
  tagline: text,
  url: text,
  logo_url: text,
  raising: z.boolean(),
  profile_available: z
    .boolean()
    .describe('True when GET /companies/{id} returns the company to this viewer.'),
};
const companyCard = z
  .object({ id: z.string(), type: z.literal('company'), attributes: z.object(cardAttributes) })
  .meta({ id: 'CompanyCard' });

export const followedCompany = z
  .object({
    id: z.string(),
    type: z.literal('company'),
    attributes: z.object({ ...cardAttributes, followed_at: timestamp }),
  })
  .meta({ id: 'FollowedCompany' });

export const searchCompanies = operation({
  id: 'searchCompanies',
  method: 'GET',
  path: paths.companySearch,
  tag: 'Companies',
  summary: 'Search raising and funded companies by name or tagline; not paginated',
  scopes,
  query: z.object({
    q: z.string().max(200),
    limit: perPageText.optional().describe('Default 8, at most 20.'),
  }),
  responses: {
    200: {
      description: 'The best matches.',
      schema: z.object({
        data: z.array(companyCard),
        meta: z.object({ query: z.string(), count: z.int() }),
      }),
    },
  },
  errors: [400],
  limits: ['catalogIp'],
});

export const companyOperations = [
  getCompany,
  searchCompanies,
  getDisclosures,
  getPitch,
  listUpdates,
  getUpdate,
  listQuestions,
] as const;
