import { createHash } from 'node:crypto';
import { defined } from '../domain/defined.js';
import { Fault } from '../domain/fault.js';
import type { Interruption } from '../runtime/interruption.js';
import type { Random } from '../runtime/random.js';
import { isSameSecret } from '../runtime/same-secret.js';
import { paths } from '../wire/paths.js';
import type { Api } from './api.js';
import { fieldsOf } from './resource.js';

/** Servers reject headers from 8 KB on, and a token is sent in one. */
export const tokenShape = /^[\x21-\x7e]{1,6000}$/;

/** Response of the token endpoint. `expiresInSeconds` is null when the token does not expire. */
export interface TokenSet {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly expiresInSeconds: number | null;
  readonly scope: string;
}

export interface OAuthClient {
  readonly clientId: string;
  /** Null for a public client, which sends no secret. */
  readonly clientSecret: string | null;
}

/** Secrets of one authorization request: created for it, kept in memory, used once. */
export interface Challenge {
  readonly state: string;
  readonly verifier: string;
  readonly challenge: string;
}

/** 32 bytes encode to a verifier of 43 characters: the minimum of RFC 7636, with 256 bits of entropy. */
export function newChallenge(random: Random): Challenge {
  const verifier = random.bytes(32).toString('base64url');
  return { state: random.bytes(24).toString('base64url'), verifier, challenge: s256(verifier) };
}

export function s256(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

export interface AuthorizeRequest {
  readonly authorizeUrl: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly challenge: Challenge;
}

export function authorizeLink(request: AuthorizeRequest): string {
  const url = new URL(request.authorizeUrl);
  url.searchParams.set('response_type', 'code');
  url.searchParams.set('client_id', request.clientId);
  url.searchParams.set('redirect_uri', request.redirectUri);
  if (request.scopes.length > 0) url.searchParams.set('scope', request.scopes.join(' '));
  url.searchParams.set('state', request.challenge.state);
  url.searchParams.set('code_challenge', request.challenge.challenge);
  url.searchParams.set('code_challenge_method', 'S256');
  return url.href;
}

/** Returns whether a redirect belongs to our request. Anyone can send a browser to our address with another `state`. */
export function isOurRedirect(query: URLSearchParams, challenge: Challenge): boolean {
  return isSameSecret(query.get('state') ?? '', challenge.state);
}

/** What helps against an error that the consent page sends back. */
const nextAfter: Readonly<Record<string, string>> = {
  access_denied: 'run the command again and approve the request in the browser',
  invalid_scope:
    'tick the scopes in the link on the application in the developer portal, then run the command again',
};

/**
 * Returns the code from the redirect. Throws `refused` on another `state` or a reported error, and `contract_broken`
 * without a code.
 */
export function codeFromRedirect(query: URLSearchParams, challenge: Challenge): string {
  if (!isOurRedirect(query, challenge)) {
    throw new Fault('refused', 'the sign-in came back with a foreign `state` and was rejected', {
      hint: 'start `rosterd connect` again and use the link it prints',
    });
  }
  const error = query.get('error');
  if (error !== null) {
    const type = /^[a-z_]{1,60}$/.test(error) ? error : 'an unknown error';
    throw new Fault('refused', `the sign-in ended with ${type}`, {
      type,
      ...defined({ hint: nextAfter[type] }),
    });
  }
  const code = query.get('code');
  if (code === null || code === '')
    throw new Fault('contract_broken', 'the sign-in came back without a code');
  return code;
}

export interface CodeExchange {
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

/**
 * Exchanges a code for tokens. A code works once, so the call is not repeated after a lost response; the sign-in
 * starts over.
 */
export function exchangeCode(
  api: Api,
  client: OAuthClient,
  exchange: CodeExchange,
  signal: Interruption,
): Promise<TokenSet> {
  return askToken(api, client, signal, false, {
    grant_type: 'authorization_code',
    code: exchange.code,
    redirect_uri: exchange.redirectUri,
    code_verifier: exchange.verifier,
  });
}

/**
 * Refreshes the tokens. The old refresh token works until the new access token is first used, so the call may be
 * repeated after a lost response, as long as the new pair is not used before it is stored.
 */
export function refreshTokens(
  api: Api,
  client: OAuthClient,
  refreshToken: string,
  signal: Interruption,
): Promise<TokenSet> {
  return askToken(api, client, signal, true, { grant_type: 'refresh_token', refresh_token: refreshToken });
}

/** Revokes the whole authorization that a token belongs to. An unknown token is not an error, and a body is ignored (RFC 7009). */
export async function revokeTokens(
  api: Api,
  client: OAuthClient,
  token: string,
  signal: Interruption,
): Promise<void> {
  await api({
    method: 'POST',
    path: paths.revoke,
    form: { token, ...clientFields(client) },
    replayable: true,
    isStatusEnough: true,
    signal,
  });
}

function clientFields({ clientId, clientSecret }: OAuthClient): Readonly<Record<string, string>> {
  return { client_id: clientId, ...(clientSecret === null ? {} : { client_secret: clientSecret }) };
}

async function askToken(
  api: Api,
  client: OAuthClient,
  signal: Interruption,
  replayable: boolean,
  grant: Readonly<Record<string, string>>,
): Promise<TokenSet> {
  const { body } = await api({
    method: 'POST',
    path: paths.token,
    form: { ...grant, ...clientFields(client) },
    replayable,
    signal,
  });
  return parseTokenSet(body);
}

function parseTokenSet(body: unknown): TokenSet {
  const { access_token, refresh_token, expires_in, scope } = fieldsOf(body);
  // A value that a header cannot carry would be stored and then fail at every use.
  if (!isToken(access_token)) throw broken('access_token');
  if (refresh_token != null && !isToken(refresh_token)) throw broken('refresh_token');
  if (expires_in != null && !(typeof expires_in === 'number' && expires_in > 0)) throw broken('expires_in');
  return {
    accessToken: access_token,
    refreshToken: refresh_token ?? null,
    expiresInSeconds: expires_in == null ? null : Math.min(expires_in, lifeSecondsMax),
    scope: typeof scope === 'string' ? scope : '',
  };
}

/** Ten years. A time beyond the range of a date would make every later refresh fail. */
const lifeSecondsMax = 10 * 365 * 24 * 3600;

function isToken(value: unknown): value is string {
  return typeof value === 'string' && tokenShape.test(value);
}

function broken(field: string): Fault {
  return new Fault('contract_broken', `the token endpoint's response has no usable \`${field}\``);
}
