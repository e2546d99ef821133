import { isSameSecret } from '../../runtime/same-secret.js';
import { type Application, applicationByNo } from '../applications/model.js';
import type { Exchange } from '../http/exchange.js';
import type { State } from '../state/database.js';
import { digestOf, type Realm } from '../state/secrets.js';
import { one } from '../state/statements.js';
import { needed, refuse } from './form.js';

export interface Client {
  readonly clientId: string;
  readonly realm: Realm;
  readonly app: Application;
}

interface ClientRow {
  readonly client_id: string;
  readonly realm: Realm;
  readonly application_no: number;
  readonly secret_digest: string;
}

function row(state: State, clientId: string): ClientRow | undefined {
  return one<ClientRow>(
    state,
    `SELECT c.client_id, c.realm, c.application_no, c.secret_digest FROM clients c
     JOIN applications a ON a.no = c.application_no
     WHERE c.client_id = ? AND c.archived_at IS NULL AND a.status NOT IN ('disabled', 'deleted')`,
    [clientId],
  );
}

/** Returns undefined for unknown and archived keys and for those of a disabled or deleted application. */
export function findClient(state: State, clientId: string): Client | undefined {
  const found = row(state, clientId);
  return (
    found && {
      clientId: found.client_id,
      realm: found.realm,
      app: applicationByNo(state, found.application_no),
    }
  );
}

/**
 * Returns the client if it authenticates: a confidential client by its secret, a public one by its id. A secret that is
 * sent must be correct for both. Digests are compared in constant time.
 */
function authenticateClient(state: State, clientId: string, secret: string | undefined): Client | undefined {
  const found = row(state, clientId);
  const client = findClient(state, clientId);
  if (found === undefined || client === undefined) return undefined;
  if (secret === undefined) return client.app.confidential ? undefined : client;
  const same = isSameSecret(digestOf(secret), found.secret_digest);
  return same ? client : undefined;
}

/** Returns the authenticated client of a form. Throws `invalid_client` otherwise. */
export function clientOf(exchange: Exchange, form: ReadonlyMap<string, string>): Client {
  const { state } = exchange.services;
  refuseBasic(exchange, form);
  const clientId = needed(form, 'client_id');
  exchange.applicationNo = findClient(state, clientId)?.app.no ?? null;
  return (
    authenticateClient(state, clientId, form.get('client_secret')) ??
    refuse('invalid_client', 'The client is unknown or its client_secret is missing or wrong.')
  );
}

/**
 * Throws `invalid_client` for HTTP Basic without a client id in the form: clients authenticate with client_secret_post
 * only. There is no `WWW-Authenticate: Basic`, because the endpoint would refuse that too.
 */
export function refuseBasic(exchange: Exchange, form: ReadonlyMap<string, string>): void {
  if (form.has('client_id') || !/^basic\b/i.test(exchange.headers.authorization ?? '')) return;
  refuse(
    'invalid_client',
    'HTTP Basic (client_secret_basic) is not supported. Send client_id and client_secret in the form (client_secret_post).',
  );
}
