import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';

const installationTargetTypes = ['company', 'syndicate'] as const;
const installationTiers = ['founder', 'admin', 'editor', 'full_access'] as const;

const target = z
  .object({ type: z.enum(installationTargetTypes), id: z.string(), name: z.string() })
  .meta({ description: 'The company or syndicate the application is installed on.' });

const installationResource = z
  .object({
    id: z.string().meta({ example: 'inst_2bX…' }),
    type: z.literal('installation'),
    attributes: z.object({
      target,
      tier: z.enum(installationTiers),
      scopes: z.array(z.string()),
      status: z.enum(['active', 'revoked']),
      installed_at: z.string(),
      installed_by: z
        .string()
        .nullable()
        .meta({ description: 'Display name; null when the account was deleted.' }),
      revoked_at: z.string().nullable().meta({ description: 'Null while the installation is active.' }),
    }),
  })
  .meta({ id: 'Installation' });

export type InstallationResource = z.infer<typeof installationResource>;

const installationToken = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    scope: z.string().meta({ description: 'Space-separated.' }),
    installation: z.string(),
    created_at: z.int().meta({ description: 'Unix time in seconds.' }),
  })
  .meta({
    id: 'InstallationToken',
    description: 'Shown once. Belongs to the company or syndicate and does not expire.',
  });

const minted = z.object({ data: installationResource, token: installationToken, meta: z.null() });
const single = z.object({ data: installationResource });

const eligible = z
  .object({
    type: z.enum(installationTargetTypes),
    id: z.string(),
    name: z.string(),
    tier: z.enum(installationTiers),
    installed: z.boolean(),
    installation: installationResource.nullable(),
  })
  .meta({ id: 'EligibleTarget' });

const listMeta = z.object({
  count: z.int(),
  page_count: z.int(),
  has_more: z.boolean(),
  next_cursor: z.null(),
});

const tag = 'Installations';
const read = ['read:installations'];
const write = ['write:installations'];

export const listInstallations = operation({
  id: 'listInstallations',
  method: 'GET',
  path: paths.installations,
  tag,
  summary: 'List the installations of the application',
  description:
    'Managers of the organization see every installation; other users see those they created or may revoke. Revoked installations are listed for 30 days.',
  scopes: read,
  callers: ['user'],
  responses: {
    200: {
      description: 'Installations, newest first',
      schema: z.object({ data: z.array(installationResource), meta: listMeta }),
    },
  },
  errors: [403],
});

export const listEligible = operation({
  id: 'listEligibleInstallations',
  method: 'GET',
  path: paths.eligibleInstallations,
  tag,
  summary: 'List the companies and syndicates the user may install the application on',
  scopes: read,
  callers: ['user'],
  query: z.object({ target_type: z.enum(installationTargetTypes).optional() }),
  responses: {
    200: {
      description: 'Companies and syndicates the user may edit',
      schema: z.object({ data: z.array(eligible), meta: listMeta }),
    },
  },
  errors: [400, 403],
});

export const installBody = z.object({
  target_type: z.enum(installationTargetTypes),
  target_id: z.string(),
  scopes: z.array(z.string()).optional(),
  tier: z.enum(installationTiers).optional(),
});

export const createInstallation = operation({
  id: 'createInstallation',
  method: 'POST',
  path: paths.installations,
  tag,
  summary: 'Install the application on a company or syndicate',
  description:
    'Scopes that the application or the tier does not have are dropped. The response lists the granted scopes.',
  scopes: write,
  callers: ['user'],
  body: installBody,
  responses: { 201: { description: 'Installed. The token is shown only in this response', schema: minted } },
  errors: [403, 404, 409, 422],
});

export const getInstallation = operation({
  id: 'getInstallation',
  method: 'GET',
  path: paths.installation,
  tag,
  summary: 'Get an installation',
  scopes: read,
  callers: ['user'],
  responses: { 200: { description: 'The installation', schema: single } },
  errors: [403, 404],
});

export const revokeInstallation = operation({
  id: 'revokeInstallation',
  method: 'DELETE',
  path: paths.installation,
  tag,
  summary: 'Revoke an installation and all its tokens',
  scopes: write,
  callers: ['user'],
  responses: { 200: { description: 'The revoked installation', schema: single } },
  errors: [403, 404],
});

const mintBody = z.object({ scopes: z.array(z.string()).optional() });

export const mintInstallationToken = operation({
  id: 'mintInstallationToken',
  method: 'POST',
  path: paths.installationTokens,
  tag,
  summary: 'Create another token for an installation',
  description: 'Scopes default to those of the installation and can only be narrowed.',
  scopes: write,
  callers: ['user'],
  body: mintBody,
  responses: { 201: { description: 'The token, shown only in this response', schema: minted } },
  errors: [403, 404, 409, 422],
});

const linkQuery = z.object({
  state: z.string().optional().meta({ description: 'Returned unchanged to the setup URL.' }),
  scope: z
    .string()
    .optional()
    .meta({ description: 'Space-separated. Defaults to everything the application declares.' }),
});
const linkPage = {
  200: { description: 'An HTML page: sign in, then install or cancel', type: 'text/html' },
} as const;

export const openInstallLink = operation({
  id: 'openInstallLink',
  method: 'GET',
  path: paths.installLink,
  tag,
  summary: 'Open the page on which a founder installs the application',
  description:
    'After the install, the browser goes to the setup URL of the application with `installation_id` and `state`; on cancel with `error=access_denied`.',
  scopes: null,
  query: linkQuery,
  responses: linkPage,
  errors: [403, 404],
});

export const answerInstallLink = operation({
  id: 'answerInstallLink',
  method: 'POST',
  path: paths.installLink,
  tag,
  summary: 'Sign in, install or cancel',
  scopes: null,
  query: linkQuery,
  bodyType: 'form',
  body: z.record(z.string(), z.string()),
  responses: { ...linkPage, 303: { description: 'Redirect to the setup URL, or back to the page' } },
  errors: [400, 403, 404, 409, 422],
});
