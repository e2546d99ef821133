import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { perPageText } from './shapes.js';

const tag = 'Invite links';
const timestamp = z.iso.datetime();
const read = ['read:invite_links'] as const;
const write = ['write:invite_links'] as const;

const attributes = {
  url: z.string(),
  allocation_cents: z.int().nullable(),
  max_uses: z.int().nullable(),
  uses_count: z.int(),
  active: z.boolean(),
  created_at: timestamp,
  email: z
    .string()
    .nullable()
    .optional()
    .describe('Per-person links only; null when the person was invited by account.'),
  service_user_id: z
    .string()
    .nullable()
    .optional()
    .describe('Per-person links only: usr_ when the person was invited by account.'),
  status: z.enum(['pending', 'opened', 'invested', 'revoked']).optional().describe('Per-person links only.'),
  opened_at: timestamp.nullable().optional(),
  invested_at: timestamp.nullable().optional(),
  investment_id: z.string().nullable().optional(),
};

const resource = z
  .object({
    id: z.string().describe('il_'),
    type: z.literal('invite_link'),
    attributes: z.object(attributes),
  })
  .meta({ id: 'InviteLink' });

const event = z.object({
  event: z.string(),
  city: z.string().nullable(),
  country_code: z.string().nullable(),
  created_at: timestamp,
});

const full = z
  .object({
    id: z.string().describe('il_'),
    type: z.literal('invite_link'),
    attributes: z.object({ ...attributes, events: z.array(event) }),
  })
  .meta({ id: 'InviteLinkWithEvents' });

export type InviteLinkResource = z.infer<typeof resource>;

const meta = z.object({ request_id: z.string() });
const single = z.object({ data: resource, meta });

const allocation = z
  .int()
  .min(100)
  .max(1_000_000_000_00)
  .refine((cents) => cents % 100 === 0, 'must be a multiple of 100');
const uses = z.int().min(1).max(1_000_000);
const words = z.string().trim().min(1).max(120);

const perPersonOnly = ['first_name', 'last_name', 'message', 'send_email'] as const;

export const inviteWish = z
  .object({
    email: z.email().max(254).nullable().optional(),
    service_user_id: z.string().max(200).nullable().optional(),
    allocation_cents: allocation.nullable().optional(),
    max_uses: uses.nullable().optional().describe('Reusable links only.'),
    first_name: words.nullable().optional(),
    last_name: words.nullable().optional(),
    message: z.string().trim().max(2000).nullable().optional(),
    send_email: z.boolean().optional().describe('Per-person links only. Default true.'),
  })
  .superRefine((wish, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message, params: { exclusive: field === 'email' } });
    if (wish.email != null && wish.service_user_id != null)
      refuse('email', 'give email or service_user_id, not both');
    if (wish.email != null || wish.service_user_id != null) {
      if (wish.max_uses != null) refuse('max_uses', 'only allowed for a reusable link');
    } else {
      for (const field of perPersonOnly) {
        if (wish[field] != null) refuse(field, 'only allowed for a link for one person');
      }
    }
  });

export type InviteWish = z.output<typeof inviteWish>;

export const createInviteLink = operation({
  id: 'createInviteLink',
  method: 'POST',
  path: paths.inviteLinks,
  tag,
  summary: 'Create an invite link for one person, or a reusable link without a recipient',
  scopes: write,
  idempotencyKey: true,
  body: z.object({ invite_link: inviteWish }),
  responses: { 201: { description: 'Created.', schema: single } },
  errors: [400, 403, 404, 422],
});

export const bulkInviteLinks = operation({
  id: 'createInviteLinks',
  method: 'POST',
  path: paths.inviteLinksBulk,
  tag,
  summary: 'Create up to 100 per-person invite links',
  description: 'Items are processed independently: an invalid item does not affect the others.',
  scopes: write,
  idempotencyKey: true,
  body: z.object({ invite_links: z.array(z.unknown()).min(1).max(100) }),
  responses: {
    207: {
      description: 'The created links, and an error for each item that failed.',
      schema: z.object({
        data: z.array(resource),
        errors: z.array(z.object({ index: z.int(), type: z.string(), detail: z.string() })),
        meta: z.object({ created: z.int(), failed: z.int(), request_id: z.string() }),
      }),
    },
  },
  errors: [400, 403, 404, 422],
});

export const listInviteLinks = operation({
  id: 'listInviteLinks',
  method: 'GET',
  path: paths.inviteLinks,
  tag,
  summary: 'List the invite links this application created for an offering, newest first',
  scopes: read,
  query: z.object({ cursor: z.string().max(200).optional(), per_page: perPageText.optional() }),
  responses: {
    200: {
      description: 'A page of invite links.',
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
  errors: [400, 403, 404],
});

export const getInviteLink = operation({
  id: 'getInviteLink',
  method: 'GET',
  path: paths.inviteLink,
  tag,
  summary: 'Get an invite link with its events',
  scopes: read,
  responses: { 200: { description: 'The link.', schema: z.object({ data: full, meta }) } },
  errors: [403, 404],
});

export const updateInviteLink = operation({
  id: 'updateInviteLink',
  method: 'PATCH',
  path: paths.inviteLink,
  tag,
  summary: 'Change the allocation or the number of uses',
  scopes: write,
  body: z.object({
    invite_link: z.strictObject({
      allocation_cents: allocation.nullable().optional(),
      max_uses: uses.nullable().optional(),
    }),
  }),
  responses: { 200: { description: 'The link as it is now.', schema: single } },
  errors: [403, 404, 422],
});

export const cancelInviteLink = operation({
  id: 'cancelInviteLink',
  method: 'DELETE',
  path: paths.inviteLink,
  tag,
  summary: 'Cancel an invite link',
  scopes: write,
  responses: {
    200: {
      description: 'The canceled link. Repeating the request returns the same response.',
      schema: single,
    },
  },
  errors: [403, 404],
});

export const resendInviteLink = operation({
  id: 'resendInviteLink',
  method: 'POST',
  path: paths.inviteLinkResend,
  tag,
  summary: 'Resend the invitation of a per-person link',
  scopes: write,
  responses: {
    200: {
      description: 'The link. Its events include the resend.',
      schema: z.object({ data: full, meta }),
    },
  },
  errors: [403, 404, 422],
});

const page = { 200: { description: 'An HTML page.' } } as const;
const gone = { 410: { description: 'An HTML page: the link no longer works.' } } as const;

export const openInvited = operation({
  id: 'openInvited',
  method: 'GET',
  path: paths.invited,
  tag,
  summary: 'Open the page of an invite link',
  scopes: null,
  responses: { ...page, ...gone },
  errors: [404],
});

export const answerInvited = operation({
  id: 'answerInvited',
  method: 'POST',
  path: paths.invited,
  tag,
  summary: 'Continue to the checkout, or decline',
  scopes: null,
  body: z.record(z.string(), z.string()),
  bodyType: 'form',
  responses: {
    ...page,
    303: { description: 'Redirect to the checkout.' },
    409: { description: 'An HTML page: the link has no uses left.' },
    ...gone,
  },
  errors: [400, 403, 404, 422],
});
