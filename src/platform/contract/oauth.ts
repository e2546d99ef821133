import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';

const tag = 'OAuth';

const authorizeQuery = z.object({
  response_type: z.string().optional().meta({ example: 'code' }),
  client_id: z.string().optional(),
  redirect_uri: z
    .string()
    .optional()
    .meta({ description: 'Must equal a registered redirect URI byte for byte.' }),
  scope: z.string().optional().meta({ description: 'Space-separated. Defaults to read:profile.' }),
  state: z.string().optional().meta({ description: 'Returned unchanged in the redirect.' }),
  code_challenge: z.string().optional().meta({ description: 'Required: base64url(SHA-256(code_verifier)).' }),
  code_challenge_method: z.string().optional().meta({ example: 'S256' }),
});

const page = {
  200: { description: 'An HTML page: sign in, then approve or deny', type: 'text/html' },
} as const;
const moved = {
  303: {
    description: 'Redirect to redirect_uri with code and state, or with error and state; or back to the page',
  },
} as const;

const unknownPerson = {
  422: { description: 'The sign-in page again: no account has this email', type: 'text/html' },
} as const;

const form = { body: z.record(z.string(), z.string()), bodyType: 'form' } as const;

const openPage = (id: string, path: string, keys: string) =>
  operation({
    id,
    method: 'GET',
    path,
    tag,
    summary: `Ask a user for consent (${keys} keys)`,
    scopes: null,
    query: authorizeQuery,
    responses: { ...page, ...moved },
    errors: [400, 403],
  });

const answerPage = (id: string, path: string, keys: string) =>
  operation({
    id,
    method: 'POST',
    path,
    tag,
    summary: `Submit the user's decision (${keys} keys)`,
    scopes: null,
    query: authorizeQuery,
    ...form,
    responses: { ...page, ...moved, ...unknownPerson },
    errors: [400, 403],
  });

export const openAuthorize = openPage('authorize', paths.authorize, 'live');
export const answerAuthorize = answerPage('answerAuthorize', paths.authorize, 'live');
export const openSandboxAuthorize = openPage('sandboxAuthorize', paths.sandboxAuthorize, 'test');
export const answerSandboxAuthorize = answerPage('answerSandboxAuthorize', paths.sandboxAuthorize, 'test');

const tokenForm = z
  .object({
    grant_type: z
      .string()
      .optional()
      .meta({ description: 'authorization_code, refresh_token or client_credentials' }),
    client_id: z.string().optional(),
    client_secret: z.string().optional().meta({ description: 'Public clients omit it.' }),
    code: z.string().optional(),
    redirect_uri: z.string().optional(),
    code_verifier: z.string().optional(),
    refresh_token: z.string().optional(),
    scope: z.string().optional(),
  })
  .meta({ id: 'TokenRequest' });

const tokenSet = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z
      .int()
      .meta({ description: 'Seconds: 7200 for a user token, 86400 for client credentials.' }),
    refresh_token: z.string().optional().meta({ description: 'Absent for client credentials.' }),
    scope: z.string().meta({ description: 'The granted scopes, space-separated.' }),
    created_at: z.int().meta({ description: 'Unix time in seconds.' }),
  })
  .meta({ id: 'TokenSet' });

const oauthError = z
  .object({
    error: z.enum([
      'invalid_request',
      'invalid_client',
      'invalid_grant',
      'invalid_scope',
      'unauthorized_client',
      'unsupported_grant_type',
    ]),
    error_description: z.string(),
    error_uri: z.string().optional().describe('The section of the API reference about the request.'),
  })
  .meta({
    id: 'OAuthError',
    description: 'The error format of RFC 6749, used by the token and revocation endpoints.',
  });

const flatErrors = {
  400: { description: 'Rejected', schema: oauthError },
  401: { description: 'invalid_client', schema: oauthError },
} as const;

export const issueToken = operation({
  id: 'issueToken',
  method: 'POST',
  path: paths.token,
  tag,
  summary: 'Exchange a code, refresh, or get client credentials',
  description:
    'Send client_id and client_secret in the form (client_secret_post). HTTP Basic (client_secret_basic) is not supported: without a client_id in the form it returns 401 `invalid_client`. Every refresh rotates the refresh token. The old refresh token works until the new access token is first used. Presenting it later revokes the whole authorization.',
  scopes: null,
  body: tokenForm,
  bodyType: 'form',
  responses: { 200: { description: 'Tokens', schema: tokenSet }, ...flatErrors },
  errors: [],
  limits: ['tokenEndpointClient', 'tokenEndpointIp'],
});

export const revokeToken = operation({
  id: 'revokeToken',
  method: 'POST',
  path: paths.revoke,
  tag,
  summary: 'Revoke a token (RFC 7009)',
  description:
    'Send client_id and client_secret in the form, as at the token endpoint. Returns 200 for unknown tokens too. Revoking either token of a pair revokes the whole authorization.',
  scopes: null,
  body: z.object({
    token: z.string().optional(),
    token_type_hint: z.string().optional(),
    client_id: z.string().optional(),
    client_secret: z.string().optional(),
  }),
  bodyType: 'form',
  responses: { 200: { description: 'The token is no longer valid', schema: z.object({}) }, ...flatErrors },
  errors: [],
});

const metadata = z
  .object({
    issuer: z.string(),
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    revocation_endpoint: z.string(),
    scopes_supported: z.array(z.string()),
    response_types_supported: z.array(z.string()),
    response_modes_supported: z.array(z.string()),
    grant_types_supported: z.array(z.string()),
    code_challenge_methods_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint_auth_methods_supported: z.array(z.string()),
  })
  .meta({ id: 'AuthorizationServerMetadata' });

export const discover = operation({
  id: 'discover',
  method: 'GET',
  path: paths.discovery,
  tag,
  summary: 'Authorization server metadata (RFC 8414), live keys',
  scopes: null,
  responses: { 200: { description: 'Where to authorize and get tokens', schema: metadata } },
  errors: [],
});

/** The sandbox has its own issuer, `<base>/sandbox`. Its metadata is at the path RFC 8414 §3.1 defines. */
export const discoverSandbox = operation({
  id: 'discoverSandbox',
  method: 'GET',
  path: `${paths.discovery}/sandbox`,
  tag,
  summary: 'Authorization server metadata (RFC 8414), test keys',
  scopes: null,
  responses: { 200: { description: 'Where to authorize and get tokens', schema: metadata } },
  errors: [],
});
