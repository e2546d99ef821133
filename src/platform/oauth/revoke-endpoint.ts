import type { Exchange, Reply } from '../http/exchange.js';
import { ok } from '../http/exchange.js';
import { endFamily } from '../installations/connections.js';
import { digestOf } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import { clientOf } from './clients.js';
import { formOf, needed } from './form.js';

/**
 * Revokes a token (RFC 7009). Either token of a pair revokes the whole family; a token without a family is revoked
 * alone. Unknown tokens and those of another client also return 200, because they are invalid for this client.
 */
export function revokeEndpoint(exchange: Exchange): Reply {
  const form = formOf(exchange);
  const client = clientOf(exchange, form);
  const digest = digestOf(needed(form, 'token'));
  const { services, now } = exchange;
  const found = one<{ family: string | null; token_no: number | null }>(
    services.state,
    `SELECT g.family, NULL AS token_no FROM refresh_tokens r JOIN grants g ON g.family = r.family
       WHERE r.digest = $digest AND g.client_id = $client
     UNION ALL
     SELECT t.family, t.no FROM access_tokens t LEFT JOIN grants g ON g.family = t.family
       WHERE t.digest = $digest AND t.application_no = $application AND t.realm = $realm
         AND (g.client_id IS NULL OR g.client_id = $client)`,
    { digest, client: client.clientId, application: client.app.no, realm: client.realm },
  );
  if (found === undefined) return ok({});
  if (found.family !== null) endFamily(services, found.family, 'revoked_by_client', now);
  else {
    run(services.state, 'UPDATE access_tokens SET revoked_at = ? WHERE no = ? AND revoked_at IS NULL', [
      now,
      found.token_no,
    ]);
  }
  return ok({});
}
