import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { perPageText } from './shapes.js';

export const intentStatuses = [
  'pending',
  'approved',
  'executing',
  'executed',
  'expired',
  'rejected',
  'failed',
] as const;
export type IntentStatus = (typeof intentStatuses)[number];

/** The scopes with which an application may propose an intent. */
const proposingScopes = ['write:syndicates', 'write:comments'] as const;

const tag = 'Intents';
const timestamp = z.iso.datetime();
const text = z.string().min(1).max(200);

const resource = z
  .object({
    id: z.string().describe('int_'),
    type: z.literal('intent'),
    attributes: z.object({
      action: z.string(),
      status: z.enum(intentStatuses),
      resource_type: z.string().describe('Club for a syndicate, Company for a company.'),
      resource_id: z.string().nullable(),
      impact_summary: z.string().describe('Summary shown to the person who decides.'),
      review_url: z
        .string()
        .describe('Page where a person approves or rejects the intent. The proposer cannot approve it.'),
      requested_by_agent: z.string().nullable(),
      expires_at: timestamp.nullable(),
      approved_at: timestamp.nullable(),
      executed_at: timestamp.nullable(),
      rejection_reason: z.string().nullable(),
      execution_result: z.record(z.string(), z.unknown()).nullable(),
      failure_reason: z.string().nullable().describe('Why an approved action failed.'),
      created_at: timestamp,
      updated_at: timestamp,
    }),
  })
  .meta({ id: 'Intent' });

export type IntentResource = z.infer<typeof resource>;

const proposal = {
  action: text.optional(),
  action_name: text.optional().describe('Alias of action.'),
  resource_type: text.nullable().optional().describe('Optional: derived from the action.'),
  resource_id: text,
  params: z.record(z.string(), z.unknown()).nullable().optional(),
  requested_by_agent: z.string().max(200).nullable().optional(),
};

const single = z.object({ data: resource, meta: z.object({ request_id: z.string() }) });

export const createIntent = operation({
  id: 'createIntent',
  method: 'POST',
  path: paths.intents,
  tag,
  summary: 'Propose an action for a person to approve',
  description:
    'Requires the scope of the action. Repeating a request with the same idempotency_key returns 200 and the existing ' +
    'intent, unless it expired, was rejected or failed. A different request with the same key returns 409.',
  scopes: proposingScopes,
  body: z.object({ ...proposal, idempotency_key: z.string().min(1).max(255) }),
  responses: {
    200: { description: 'The intent already exists.', schema: single },
    201: { description: 'Proposed.', schema: single },
  },
  errors: [400, 403, 404, 409, 422],
  limits: ['pendingIntents', 'commentProposals'],
});

export const previewIntent = operation({
  id: 'previewIntent',
  method: 'POST',
  path: paths.intentPreview,
  tag,
  summary: 'Check a proposal without creating an intent',
  scopes: [...proposingScopes, 'read:explore'],
  body: z.object(proposal),
  responses: {
    200: {
      description: 'The proposal is valid.',
      schema: z.object({
        data: z.object({
          type: z.literal('intent_preview'),
          attributes: z.object({
            action: z.string(),
            resource_type: z.string(),
            resource_id: z.string(),
            params: z.record(z.string(), z.unknown()),
            impact_summary: z.string(),
            scope: z.string().describe('The scope required to propose it.'),
          }),
        }),
        meta: z.object({ request_id: z.string() }),
      }),
    },
  },
  errors: [400, 403, 404, 422],
});

export const listIntents = operation({
  id: 'listIntents',
  method: 'GET',
  path: paths.intents,
  tag,
  summary: 'List the intents proposed by the account of this token, newest first',
  scopes: ['read:syndicates'],
  query: z.object({
    status: z.string().max(40).optional(),
    resource_type: text.optional(),
    resource_id: text.optional(),
    cursor: z.string().max(200).optional(),
    per_page: perPageText.optional(),
  }),
  responses: {
    200: {
      description: 'A page of intents.',
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

export const getIntent = operation({
  id: 'getIntent',
  method: 'GET',
  path: paths.intent,
  tag,
  summary: 'Get an intent proposed by the account of this token',
  scopes: ['read:syndicates', 'write:comments'],
  responses: { 200: { description: 'The intent.', schema: single } },
  errors: [403, 404],
});

const page = { 200: { description: 'An HTML page.' } } as const;

export const openReview = operation({
  id: 'openReview',
  method: 'GET',
  path: paths.review,
  tag,
  summary: 'Open the review page of an intent',
  scopes: null,
  responses: page,
  errors: [403, 404],
});

export const answerReview = operation({
  id: 'answerReview',
  method: 'POST',
  path: paths.review,
  tag,
  summary: 'Submit the decision on an intent',
  scopes: null,
  body: z.record(z.string(), z.string()),
  bodyType: 'form',
  responses: { ...page, 303: { description: 'Redirect to the review page, which shows the outcome.' } },
  errors: [400, 403, 404, 422],
});
