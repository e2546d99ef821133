import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { centsSum, cursorText, listMeta, perPageText, timestamp } from './shapes.js';

const campaign = z
  .object({
    id: z.string().describe('ofr_'),
    type: z.literal('campaign'),
    attributes: z.object({
      state: z.string().describe('upcoming, active, closed or canceled. More values may be added.'),
      company_id: z.int(),
      company: z.string().nullable().describe('co_'),
      company_name: z.string(),
      company_url: z.string().nullable().describe('Slug.'),
      created_at: timestamp,
      updated_at: timestamp,
      closed_at: timestamp.nullable(),
      amount_raised: z.number().nullable().meta({ deprecated: true, description: 'Dollars.' }),
      amount_raised_cents: centsSum,
      investor_count: z.int(),
    }),
  })
  .meta({ id: 'Campaign' });

export const listCampaigns = operation({
  id: 'listCampaigns',
  method: 'GET',
  path: paths.campaigns,
  tag: 'Campaigns',
  summary: 'List the rounds of the companies the caller manages, newest first',
  scopes: ['read:companies'],
  callers: ['user', 'installation'],
  query: z.object({ cursor: cursorText.optional(), per_page: perPageText.optional() }),
  responses: {
    200: {
      description: 'A page of campaigns.',
      schema: z.object({ data: z.array(campaign), meta: z.object(listMeta) }),
    },
  },
  errors: [400, 403],
});

export const campaignOperations = [listCampaigns] as const;
