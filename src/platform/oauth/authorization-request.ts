import { canonicalScopes, offeredScopes, splitScopes } from '../applications/scopes.js';
import { applicationOnlyScopes } from '../contract/scopes.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';
import { type Client, findClient } from './clients.js';
import { isChallenge } from './pkce.js';
import { redirectMatches, withParameters } from './redirect-uris.js';

/** A valid authorization request, ready for the consent page. */
export interface AuthorizationRequest {
  readonly client: Client;
  readonly redirectUri: string;
  readonly state: string | null;
  readonly scopes: readonly string[];
  readonly challenge: string;
}

/**
 * The result of checking the parameters. Errors are shown on a page until the redirect URI is known to belong to the
 * client (`page`), and sent to the redirect URI afterwards (`redirect`).
 */
export type Checked =
  | { readonly kind: 'page'; readonly title: string; readonly why: string }
  | { readonly kind: 'other_realm' }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'ask'; readonly request: AuthorizationRequest };

const defaultScope = 'read:profile';

export function checkAuthorization(state: State, query: URLSearchParams, realm: Realm): Checked {
  const clientId = query.get('client_id') ?? '';
  const client = findClient(state, clientId);
  if (client === undefined) {
    return { kind: 'page', title: 'Unknown application', why: 'No application has this client_id.' };
  }
  if (client.realm !== realm) return { kind: 'other_realm' };
  if (client.app.status !== 'active') {
    return { kind: 'page', title: 'Application suspended', why: `${client.app.name} is suspended for now.` };
  }
  const redirectUri = query.get('redirect_uri') ?? '';
  if (!client.app.redirectUris.some((registered) => redirectMatches(registered, redirectUri))) {
    return {
      kind: 'page',
      title: 'Address not registered',
      why: 'The redirect_uri of this link is not registered for the application. Nothing was sent there.',
    };
  }
  return checkDetails(client, redirectUri, query);
}

function checkDetails(client: Client, redirectUri: string, query: URLSearchParams): Checked {
  const state = query.get('state');
  const failed = (error: string, why: string): Checked => ({
    kind: 'redirect',
    to: withParameters(redirectUri, { error, error_description: why, state }),
  });
  const responseType = query.get('response_type') ?? '';
  if (responseType === '') return failed('invalid_request', 'response_type is required');
  if (responseType !== 'code') return failed('unsupported_response_type', 'response_type must be code');
  const challenge = query.get('code_challenge') ?? '';
  if (query.get('code_challenge_method') !== 'S256' || !isChallenge(challenge)) {
    return failed('invalid_request', 'PKCE is required: code_challenge with code_challenge_method S256');
  }
  const asked = splitScopes(query.get('scope'));
  const scopes = canonicalScopes(asked.length === 0 ? [defaultScope] : asked);
  const offered = offeredScopes(client.app.scopes);
  // The default scope is available to every application, even if it was not selected.
  const unticked = asked.length === 0 ? [] : scopes.filter((scope) => !offered.has(scope));
  if (unticked.length > 0) {
    return failed('invalid_scope', 'A scope was requested that is not ticked on the application');
  }
  const personal = scopes.filter((scope) => !applicationOnlyScopes.includes(scope));
  if (personal.length === 0) {
    return failed('invalid_scope', 'Referral code scopes are held by client credentials only');
  }
  return { kind: 'ask', request: { client, redirectUri, state, scopes: personal, challenge } };
}
