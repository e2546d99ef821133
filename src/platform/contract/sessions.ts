import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { perPageText } from './shapes.js';

export const sessionStatuses = [
  'pending',
  'in_progress',
  'abandoned',
  'canceled',
  'completed',
  'expired',
] as const;
export type SessionStatus = (typeof sessionStatuses)[number];

const kycStatuses = ['pending', 'passed', 'failed'] as const;
export type KycStatus = (typeof kycStatuses)[number];

const fundingStatuses = ['pending', 'succeeded', 'card_declined', 'insufficient_funds'] as const;
export type FundingStatus = (typeof fundingStatuses)[number];

const tag = 'Investment sessions';
const read = ['read:investment_sessions'] as const;
const write = ['write:investment_sessions'] as const;
const timestamp = z.iso.datetime();

const attributes = {
  status: z.enum(sessionStatuses),
  url: z
    .string()
    .describe('The hosted checkout, usable only by its recipient. Stops working when the session ends.'),
  offering: z.string().describe('ofr_'),
  spv_id: z.string().describe('spv_'),
  email: z
    .string()
    .nullable()
    .describe('The email given for the recipient; null when the recipient was given by account.'),
  allocation_cents: z.int().nullable().describe('Null when the recipient chooses the amount.'),
  kyc_status: z.enum(kycStatuses).nullable(),
  funding_status: z.enum(fundingStatuses).nullable(),
  investment_id: z
    .string()
    .nullable()
    .describe('invt_, set on completion. The investments feed uses the prefix inv_ for the same investment.'),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  created_at: timestamp,
  expires_at: timestamp.nullable(),
};

const summary = z
  .object({
    id: z.string().describe('is_'),
    type: z.literal('investment_session'),
    attributes: z.object(attributes),
  })
  .meta({ id: 'InvestmentSession' });

const full = z
  .object({
    id: z.string().describe('is_'),
    type: z.literal('investment_session'),
    attributes: z.object({
      ...attributes,
      events: z.array(
        z.object({ id: z.string().describe('evt_'), event: z.string(), occurred_at: timestamp }),
      ),
    }),
  })
  .meta({
    id: 'InvestmentSessionWithEvents',
    description: 'An investment session with its events, oldest first.',
  });

export type SessionResource = z.infer<typeof summary>;

const single = z.object({ data: full, meta: z.object({ request_id: z.string() }) });
const list = z.object({
  data: z.array(summary),
  meta: z.object({
    has_more: z.boolean(),
    page_count: z.int(),
    next_cursor: z.string().nullable(),
    request_id: z.string(),
  }),
});

const paging = {
  status: z
    .string()
    .max(40)
    .optional()
    .describe(`One of ${sessionStatuses.join(', ')}.`),
  cursor: z.string().max(200).optional(),
  per_page: perPageText.optional().describe('Default 25, at most 100.'),
};

export const listOfferingSessions = operation({
  id: 'listOfferingInvestmentSessions',
  method: 'GET',
  path: paths.offeringSessions,
  tag,
  summary: 'List the sessions this application created for an offering, newest first',
  scopes: read,
  beta: true,
  query: z.object(paging),
  responses: { 200: { description: 'A page of sessions.', schema: list } },
  errors: [403, 404, 422],
});

/** An amount fixed by the application must be a whole number of currency units. */
const wholeUnits = z
  .int()
  .min(100)
  .max(1_000_000_000_00)
  .refine((cents) => cents % 100 === 0, 'must be a multiple of 100');

const webAddress = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .refine(
    (text) => URL.parse(text) === null || (new URL(text).username === '' && new URL(text).password === ''),
    {
      message: 'must not carry a user name or password',
    },
  );

export const sessionWish = z
  .object({
    spv_id: z.string().max(200).nullable().optional(),
    email: z.email().max(254).nullable().optional(),
    service_user_id: z.string().max(200).nullable().optional().describe('usr_'),
    allocation_cents: wholeUnits.nullable().optional(),
    success_url: webAddress
      .nullable()
      .optional()
      .describe('URL the recipient is redirected to after completion.'),
    expires_in_hours: z.int().min(1).max(2160).default(720),
    metadata: z.record(z.string().max(200), z.unknown()).nullable().optional(),
    intent_id: z.string().startsWith('int_').max(200).nullable().optional(),
  })
  .superRefine((wish, context) => {
    const named = [wish.email, wish.service_user_id].filter((value) => value != null).length;
    if (named === 1) return;
    const message = named === 0 ? 'give email or service_user_id' : 'give email or service_user_id, not both';
    context.addIssue({ code: 'custom', path: ['email'], message });
  });

export const createSession = operation({
  id: 'createInvestmentSession',
  method: 'POST',
  path: paths.offeringSessions,
  tag,
  summary: 'Create a hosted checkout for one recipient',
  description: 'If the recipient already has an active session, that session is returned with 200.',
  scopes: write,
  beta: true,
  idempotencyKey: true,
  body: z.object({ investment_session: sessionWish }),
  responses: {
    200: { description: 'The recipient already has an active session of this application.', schema: single },
    201: { description: 'Created.', schema: single },
  },
  errors: [400, 403, 404, 409, 422],
});

export const listSessions = operation({
  id: 'listInvestmentSessions',
  method: 'GET',
  path: paths.sessions,
  tag,
  summary: 'List the sessions this application created, newest first',
  scopes: read,
  beta: true,
  query: z.object({ spv_id: z.string().max(200).optional(), ...paging }),
  responses: { 200: { description: 'A page of sessions.', schema: list } },
  errors: [403, 404, 422],
});

export const getSession = operation({
  id: 'getInvestmentSession',
  method: 'GET',
  path: paths.session,
  tag,
  summary: 'Get a session with its events',
  scopes: read,
  beta: true,
  responses: { 200: { description: 'The session.', schema: single } },
  errors: [403, 404],
});

export const cancelSession = operation({
  id: 'cancelInvestmentSession',
  method: 'DELETE',
  path: paths.session,
  tag,
  summary: 'Cancel a session: its link stops working',
  scopes: write,
  beta: true,
  responses: {
    200: {
      description: 'The canceled session. Repeating the request returns the same response.',
      schema: single,
    },
  },
  errors: [403, 404, 422],
});

const page = { 200: { description: 'An HTML page.' } } as const;
const form = { body: z.record(z.string(), z.string()), bodyType: 'form' as const };
const moved = { 303: { description: 'Redirect to the next page.' } } as const;
const ended = {
  409: { description: 'An HTML page: the round has closed.' },
  410: { description: 'An HTML page: the link no longer works.' },
} as const;

export const openCheckout = operation({
  id: 'openCheckout',
  method: 'GET',
  path: paths.checkout,
  tag,
  summary: 'Open the hosted checkout',
  scopes: null,
  responses: { ...page, ...ended },
  errors: [403, 404],
});

export const answerCheckout = operation({
  id: 'answerCheckout',
  method: 'POST',
  path: paths.checkout,
  tag,
  summary: 'Submit one step of the hosted checkout',
  scopes: null,
  ...form,
  responses: { ...page, ...moved, ...ended },
  errors: [400, 403, 404, 422],
});
