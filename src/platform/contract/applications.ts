import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';

const client = z.object({
  client_id: z.string().meta({ description: 'Also the publishable key.' }),
  client_secret: z
    .string()
    .nullable()
    .meta({ description: 'The test secret is always shown; the live secret only in the create response.' }),
});

export const applicationResource = z
  .object({
    id: z.string(),
    type: z.literal('application'),
    attributes: z.object({
      name: z.string(),
      client_type: z.enum(['public', 'confidential']),
      redirect_uris: z.array(z.string()),
      setup_url: z.string().nullable(),
      scopes: z.array(z.string()).meta({
        description: 'Scopes selected for the application. Every application also has read:public.',
      }),
      status: z.enum(['active', 'suspended', 'disabled']),
      review: z.enum(['none', 'pending', 'approved', 'declined']),
      pii_approved: z.boolean(),
      pinned_version: z.string(),
      created_at: z.string(),
      clients: z.object({ test: client, live: client }),
    }),
  })
  .meta({ id: 'Application' });

export type ApplicationResource = z.infer<typeof applicationResource>;

const single = z.object({ data: applicationResource });
const tag = 'Developer portal';

export const listApplications = operation({
  id: 'listApplications',
  method: 'GET',
  path: paths.applications,
  tag,
  summary: 'List the applications of the organization',
  description: 'The organization is that of the calling application. The user must have a role in it.',
  scopes: [],
  callers: ['user'],
  responses: {
    200: {
      description: 'Applications',
      schema: z.object({
        data: z.array(applicationResource),
        meta: z.object({ page_count: z.int(), has_more: z.boolean(), next_cursor: z.null() }),
      }),
    },
  },
  errors: [403],
});

const applicationBody = z.object({
  name: z.string().trim().min(1).max(80),
  client_type: z.enum(['public', 'confidential']).default('confidential'),
  redirect_uris: z.array(z.string()).max(20).default([]),
  setup_url: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null),
  scopes: z.array(z.string()).default([]),
});

export const createApplication = operation({
  id: 'createApplication',
  method: 'POST',
  path: paths.applications,
  tag,
  summary: 'Create an application with a test and a live key pair',
  scopes: [],
  callers: ['user'],
  body: applicationBody,
  responses: {
    201: { description: 'Created. The live secret is shown only in this response', schema: single },
  },
  errors: [403, 422],
});

const applicationPatch = z.object({
  name: z.string().trim().min(1).max(80).optional(),
  redirect_uris: z.array(z.string()).max(20).optional(),
  setup_url: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .optional(),
});

export const changeApplication = operation({
  id: 'changeApplication',
  method: 'PATCH',
  path: paths.application,
  tag,
  summary: 'Change the name, redirect URIs or setup URL',
  description: 'A removed redirect URI is rejected for authorizations that start afterwards.',
  scopes: [],
  callers: ['user'],
  body: applicationPatch,
  responses: { 200: { description: 'The application', schema: single } },
  errors: [403, 404, 422],
});

export const getApplication = operation({
  id: 'getApplication',
  method: 'GET',
  path: paths.application,
  tag,
  summary: 'Get an application',
  scopes: [],
  callers: ['user'],
  responses: { 200: { description: 'The application', schema: single } },
  errors: [403, 404],
});

const scopesBody = z.object({ scopes: z.array(z.string()).min(1) });

export const addScopes = operation({
  id: 'addApplicationScopes',
  method: 'POST',
  path: paths.applicationScopes,
  tag,
  summary: 'Add scopes to an application',
  description: 'Existing tokens and installations keep the scopes they have.',
  scopes: [],
  callers: ['user'],
  body: scopesBody,
  responses: { 200: { description: 'The application', schema: single } },
  errors: [403, 404, 409, 422],
});

export const removeScope = operation({
  id: 'removeApplicationScope',
  method: 'DELETE',
  path: paths.applicationScope,
  tag,
  summary: 'Remove a scope from the application, its installations and its tokens',
  scopes: [],
  callers: ['user'],
  responses: {
    200: {
      description: 'The application, and the installations and tokens that changed',
      schema: z.object({
        data: applicationResource,
        meta: z.object({
          removed: z.array(z.string()),
          still_implied: z.array(z.string()),
          installations_narrowed: z.int(),
          installations_revoked: z.int(),
          tokens_revoked: z.int(),
        }),
      }),
    },
  },
  errors: [403, 404, 422],
});

export const requestReview = operation({
  id: 'requestApplicationReview',
  method: 'POST',
  path: paths.applicationReview,
  tag,
  summary: 'Request a review of the application by the platform',
  scopes: [],
  callers: ['user'],
  responses: { 200: { description: 'The application', schema: single } },
  errors: [403, 404, 409],
});

export const disableApplication = operation({
  id: 'disableApplication',
  method: 'POST',
  path: paths.applicationDisable,
  tag,
  summary: 'Disable the application and revoke all its tokens',
  scopes: [],
  callers: ['user'],
  responses: { 200: { description: 'The application', schema: single } },
  errors: [403, 404],
});

export const deleteApplication = operation({
  id: 'deleteApplication',
  method: 'DELETE',
  path: paths.application,
  tag,
  summary: 'Delete an application that was never approved, installed or given a live token',
  scopes: [],
  callers: ['user'],
  responses: {
    200: {
      description: 'Deleted',
      schema: z.object({
        data: z.object({ id: z.string(), type: z.literal('application'), removed: z.literal(true) }),
      }),
    },
  },
  errors: [403, 404, 409],
});
