import { universalScope } from '../../contract/scopes.js';
import { digestOf, realmOf } from '../../state/secrets.js';
import { one } from '../../state/statements.js';
import type { AppRow, Caller } from '../caller.js';
import type { Exchange } from '../exchange.js';
import { Problem } from '../problem.js';
import { expandScopes } from '../scopes.js';
import { refuseRemoved } from './refuse-removed.js';

/** RFC 6750 §3: the challenge has no error code without a credential, and `invalid_token` with an invalid one. */
const unauthorized = (message: string, remediation: string, code?: 'invalid_token'): Problem =>
  new Problem(401, 'unauthorized', message, {
    remediation,
    headers: { 'WWW-Authenticate': code === undefined ? 'Bearer' : `Bearer error="${code}"` },
    ...(code === undefined ? {} : { details: { code } }),
  });

interface TokenRow extends AppRow {
  readonly token_no: number;
  readonly realm: 'test' | 'live';
  readonly kind: 'user' | 'installation' | 'application' | 'syndicate_key';
  readonly user_no: number | null;
  readonly installation_no: number | null;
  readonly syndicate_no: number | null;
  readonly company_no: number | null;
  readonly installed_syndicate_no: number | null;
  readonly scopes: string;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly first_used_at: number | null;
  readonly user_gone: number | null;
}

const app = 'a.no, a.id, a.organization_no, a.name, a.status, a.approved_at, a.pinned_version';

const tokenSql = `SELECT ${app}, t.no AS token_no, t.realm, t.kind, t.user_no, t.installation_no, t.syndicate_no,
  i.company_no, i.syndicate_no AS installed_syndicate_no, t.scopes, t.expires_at, t.revoked_at, t.first_used_at,
  u.deactivated_at AS user_gone
  FROM access_tokens t JOIN applications a ON a.no = t.application_no
  LEFT JOIN installations i ON i.no = t.installation_no LEFT JOIN users u ON u.no = t.user_no
  WHERE t.digest = ?`;

const keySql = `SELECT ${app}, c.realm FROM clients c JOIN applications a ON a.no = c.application_no
  WHERE c.client_id = ? AND c.archived_at IS NULL`;

/**
 * Sets the caller from the bearer credential. Throws a 401 for any invalid credential. Without a credential there is no
 * application whose version could still have a removed operation, so that returns its 404.
 */
export function identify(exchange: Exchange): void {
  const [, credential] = /^Bearer +([\x21-\x7e]+)$/i.exec(exchange.headers.authorization ?? '') ?? [];
  if (credential === undefined) {
    refuseRemoved(exchange);
    throw unauthorized(
      'A bearer credential is required.',
      'Send the header Authorization: Bearer <access token>.',
    );
  }
  exchange.caller = credential.startsWith('pk_')
    ? publishable(exchange, credential)
    : minted(exchange, credential);
}

function publishable(exchange: Exchange, key: string): Caller {
  const row = one<AppRow & { realm: 'test' | 'live' }>(exchange.services.state, keySql, [key]);
  exchange.applicationNo = row?.no ?? null;
  if (row === undefined || row.status === 'deleted') {
    throw unauthorized(
      'This publishable key is not known.',
      'Use the client id of an application that exists.',
      'invalid_token',
    );
  }
  if (row.status === 'disabled')
    throw new Problem(403, 'forbidden', 'The application of this key is disabled.');
  return { kind: 'publishable', key, realm: row.realm, app: row, scopes: expandScopes([universalScope]) };
}

function minted(exchange: Exchange, token: string): Caller {
  const { state, events } = exchange.services;
  const row = realmOf(token) === undefined ? undefined : one<TokenRow>(state, tokenSql, [digestOf(token)]);
  exchange.applicationNo = row?.no ?? null;
  if (row === undefined)
    throw unauthorized(
      'This access token is not valid.',
      'Authorize again to get a new token.',
      'invalid_token',
    );
  if (
    row.revoked_at !== null ||
    row.user_gone !== null ||
    row.status === 'disabled' ||
    row.status === 'deleted'
  ) {
    throw unauthorized(
      'This access token was revoked (invalid_token).',
      'Authorize again to get a new token.',
      'invalid_token',
    );
  }
  if (row.expires_at !== null && row.expires_at <= exchange.now) {
    throw unauthorized(
      'This access token has expired.',
      'Use the refresh token to get a new one.',
      'invalid_token',
    );
  }
  if (row.first_used_at === null) events.tokenUsed(row.token_no, exchange.now);
  const credential = {
    key: `token:${row.token_no}`,
    tokenNo: row.token_no,
    realm: row.realm,
    app: row,
    // Every application has the scope of the public catalog without requesting it.
    scopes: expandScopes([...row.scopes.split(' '), universalScope]),
  };
  switch (row.kind) {
    case 'user':
      return { ...credential, kind: 'user', userNo: required(row.user_no) };
    case 'installation':
      return {
        ...credential,
        kind: 'installation',
        installationNo: required(row.installation_no),
        companyNo: row.company_no,
        syndicateNo: row.installed_syndicate_no,
      };
    case 'syndicate_key':
      return { ...credential, kind: 'syndicate_key', syndicateNo: required(row.syndicate_no) };
    case 'application':
      return { ...credential, kind: 'application' };
  }
}

function required(value: number | null): number {
  if (value === null) throw new Error('an access token row lacks a column its kind requires');
  return value;
}
