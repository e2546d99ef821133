import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { perPageText } from './shapes.js';

const tag = 'Referral codes';
const timestamp = z.iso.datetime();
const read = ['read:referral_codes'] as const;
const write = ['write:referral_codes'] as const;

const resource = z
  .object({
    id: z.string().describe('ref_, the value of the wfr parameter in a link.'),
    type: z.literal('referral_code'),
    attributes: z.object({
      label: z.string().nullable(),
      offering: z.string().nullable().describe('ofr_; null for a code that works in a link to any offering.'),
      url: z.string().nullable().describe('Link to the offering that contains the code.'),
      status: z.enum(['active', 'disabled']),
      click_count: z.int(),
      investment_count: z.int(),
      created_at: timestamp,
      disabled_at: timestamp.nullable(),
    }),
  })
  .meta({ id: 'ReferralCode' });

export type ReferralCodeResource = z.infer<typeof resource>;

const single = z.object({ data: resource, meta: z.object({ request_id: z.string() }) });
const text = z.string().trim().min(1).max(120);

export const createReferralCode = operation({
  id: 'createReferralCode',
  method: 'POST',
  path: paths.referralCodes,
  tag,
  summary: 'Create a referral code',
  description: 'For client-credentials tokens only. Unknown fields are rejected.',
  scopes: write,
  idempotencyKey: true,
  // Strict: a code for every offering instead of one, because its name was misspelled, would be found too late.
  body: z.strictObject({
    label: text.nullable().optional(),
    offering_id: z.string().max(200).nullable().optional(),
  }),
  responses: { 201: { description: 'Created.', schema: single } },
  errors: [400, 403, 404, 422],
});

export const listReferralCodes = operation({
  id: 'listReferralCodes',
  method: 'GET',
  path: paths.referralCodes,
  tag,
  summary: 'List the referral codes of the application, newest first',
  scopes: read,
  query: z.object({ cursor: z.string().max(200).optional(), per_page: perPageText.optional() }),
  responses: {
    200: {
      description: 'A page of referral codes.',
      schema: z.object({
        data: z.array(resource),
        meta: z.object({
          has_more: z.boolean(),
          page_count: z.int(),
          next_cursor: z.string().nullable(),
          request_id: z.string(),
        }),
      }),
    },
  },
  errors: [400, 403],
});

export const getReferralCode = operation({
  id: 'getReferralCode',
  method: 'GET',
  path: paths.referralCode,
  tag,
  summary: 'Get a referral code',
  scopes: read,
  responses: { 200: { description: 'The code.', schema: single } },
  errors: [403, 404],
});

export const disableReferralCode = operation({
  id: 'disableReferralCode',
  method: 'DELETE',
  path: paths.referralCode,
  tag,
  summary: 'Disable a referral code: links that contain it stop working',
  scopes: write,
  responses: {
    200: {
      description: 'The disabled code. Repeating the request returns the same response.',
      schema: single,
    },
  },
  errors: [403, 404],
});

const page = { 200: { description: 'An HTML page.' } } as const;
const ended = {
  409: { description: 'An HTML page: the round has closed.' },
  410: { description: 'An HTML page: the link no longer works.' },
} as const;

export const openInvest = operation({
  id: 'openInvest',
  method: 'GET',
  path: paths.invest,
  tag,
  summary: 'Open the page of a link with a referral code',
  scopes: null,
  responses: { ...page, ...ended },
  errors: [404],
});

export const answerInvest = operation({
  id: 'answerInvest',
  method: 'POST',
  path: paths.invest,
  tag,
  summary: 'Continue to the checkout',
  scopes: null,
  body: z.record(z.string(), z.string()),
  bodyType: 'form',
  responses: { ...page, 303: { description: 'Redirect to the checkout.' }, ...ended },
  errors: [400, 403, 404, 422],
});
