import { z } from 'zod';
import { type EventName, eventNames } from '../../wire/events.js';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';

/** Why a delivery attempt got no response. */
const deliveryErrors = ['timeout', 'blocked_url', 'tls_error', 'connection_failed'] as const;
export type DeliveryError = (typeof deliveryErrors)[number];

const eventName = z.enum(eventNames as readonly [EventName, ...EventName[]]);
const events = z.array(eventName).min(1);
/** Servers and proxies reject longer URLs. */
const url = z.string().max(2048);
const timestamp = z.iso.datetime();

const webhookEndpointSchema = z
  .object({
    id: z.string(),
    type: z.literal('webhook_endpoint'),
    attributes: z.object({
      url: z.string().optional().describe('Omitted for a bound endpoint, except in the create response.'),
      url_hint: z.string().describe('The host and the last six characters of the URL.'),
      installation: z.string().nullable().describe('The bound installation; null for an app-wide endpoint.'),
      mode: z.enum(['live', 'test']),
      events: z.array(eventName),
      enabled: z.boolean(),
      secret: z.string().optional().describe('Present only in the responses of create and rotate.'),
      failing_since: timestamp.nullable(),
      last_delivery_at: timestamp.nullable(),
      last_delivery_status: z
        .string()
        .nullable()
        .describe('An HTTP status, or timeout, blocked_url, tls_error or connection_failed.'),
      created_at: timestamp,
    }),
  })
  .meta({ id: 'WebhookEndpoint' });

const single = z.object({ data: webhookEndpointSchema, meta: z.object({ request_id: z.string() }) });

export const webhookEnvelopeSchema = z
  .object({
    id: z.string(),
    event: eventName,
    created_at: timestamp,
    mode: z.enum(['live', 'test']),
    installation: z.object({
      id: z.string(),
      target: z
        .object({
          type: z.enum(['company', 'syndicate', 'user']),
          id: z.string(),
          name: z.string().nullable(),
        })
        .nullable(),
      test: z.boolean(),
    }),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'WebhookEnvelope' });

export type WebhookEndpoint = z.infer<typeof webhookEndpointSchema>;
export type WebhookEnvelope = z.infer<typeof webhookEnvelopeSchema>;

const read = ['read:webhooks'] as const;
const write = ['write:webhooks'] as const;
const tag = 'Webhook endpoints';

export const listWebhookEndpoints = operation({
  id: 'listWebhookEndpoints',
  method: 'GET',
  path: paths.webhookEndpoints,
  tag,
  summary: 'List webhook endpoints',
  scopes: read,
  responses: {
    200: {
      description: 'Every endpoint the token may access.',
      schema: z.object({
        data: z.array(webhookEndpointSchema),
        meta: z.object({ count: z.int(), quota: z.int(), request_id: z.string() }),
      }),
    },
  },
  errors: [403],
});

export const createWebhookEndpoint = operation({
  id: 'createWebhookEndpoint',
  method: 'POST',
  path: paths.webhookEndpoints,
  tag,
  summary: 'Create a webhook endpoint',
  description:
    'The secret is shown in this response and never again. With `installation` the endpoint is bound to it, which ' +
    'is idempotent on (installation, url, mode).',
  scopes: write,
  body: z.object({
    url,
    events,
    mode: z.enum(['live', 'test']).default('live'),
    installation: z.string().nullable().optional(),
  }),
  responses: {
    200: { description: 'The bound endpoint already exists with the same events.', schema: single },
    201: { description: 'Created. The response contains the secret.', schema: single },
  },
  errors: [403, 404, 409, 422],
});

export const getWebhookEndpoint = operation({
  id: 'getWebhookEndpoint',
  method: 'GET',
  path: paths.webhookEndpoint,
  tag,
  summary: 'Get a webhook endpoint',
  scopes: read,
  responses: { 200: { description: 'The endpoint, without its secret.', schema: single } },
  errors: [403, 404],
});

export const updateWebhookEndpoint = operation({
  id: 'updateWebhookEndpoint',
  method: 'PATCH',
  path: paths.webhookEndpoint,
  tag,
  summary: 'Change the URL or the events',
  description: '`events` replaces the whole list.',
  scopes: write,
  body: z.object({ url: url.optional(), events: events.optional() }),
  responses: { 200: { description: 'The endpoint as it is now.', schema: single } },
  errors: [403, 404, 409, 422],
});

export const deleteWebhookEndpoint = operation({
  id: 'deleteWebhookEndpoint',
  method: 'DELETE',
  path: paths.webhookEndpoint,
  tag,
  summary: 'Delete a webhook endpoint',
  description: 'Cancels its pending and dead-lettered deliveries. Cannot be undone.',
  scopes: write,
  responses: {
    200: {
      description: 'Deleted.',
      schema: z.object({
        data: z.object({ id: z.string(), type: z.literal('webhook_endpoint'), removed: z.literal(true) }),
      }),
    },
  },
  errors: [403, 404],
});

export const rotateWebhookSecret = operation({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: `${paths.webhookEndpoint}/rotate_secret`,
  tag,
  summary: 'Rotate the signing secret',
  description: 'The new secret is shown once; the previous one keeps signing for 24 hours.',
  scopes: write,
  responses: { 200: { description: 'The endpoint with its new secret.', schema: single } },
  errors: [403, 404],
});

export const reenableWebhookEndpoint = operation({
  id: 'reenableWebhookEndpoint',
  method: 'POST',
  path: `${paths.webhookEndpoint}/reenable`,
  tag,
  summary: 'Enable a disabled endpoint',
  description: 'Clears the failure streak. Missed deliveries are not replayed.',
  scopes: write,
  responses: { 200: { description: 'The endpoint, enabled.', schema: single } },
  errors: [403, 404],
});

export const testWebhookEndpoint = operation({
  id: 'testWebhookEndpoint',
  method: 'POST',
  path: `${paths.webhookEndpoint}/test`,
  tag,
  summary: 'Send a signed example event',
  description: 'Does not affect the delivery health or history of the endpoint.',
  scopes: write,
  body: z.object({ event: z.string().optional() }),
  responses: {
    200: {
      description: 'The result of the delivery.',
      schema: z.object({
        data: z.object({
          type: z.literal('webhook_test'),
          delivered: z.boolean(),
          response_code: z.int().nullable(),
          error: z.enum(deliveryErrors).nullable().describe('Null when the endpoint responded.'),
          duration_ms: z.int(),
          event: eventName,
          payload: webhookEnvelopeSchema,
        }),
        meta: z.object({ request_id: z.string() }),
      }),
    },
  },
  errors: [403, 404, 422],
  limits: ['webhookTest'],
});
