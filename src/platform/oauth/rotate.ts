import { canonicalScopes } from '../applications/scopes.js';
import { expandScopes } from '../http/scopes.js';
import { endFamily } from '../installations/connections.js';
import type { Services } from '../services.js';
import { digestOf } from '../state/secrets.js';
import { one } from '../state/statements.js';
import type { Client } from './clients.js';
import { grantOf } from './grants.js';
import { type Outcome, refused } from './outcome.js';
import { issuePair } from './pairs.js';
import { passesReview } from './review-gate.js';

interface RefreshRow {
  readonly family: string;
  readonly no: number;
  readonly expires_at: number;
  readonly ended_at: number | null;
  readonly user_gone: number | null;
}

const noSuchToken = () =>
  refused('invalid_grant', 'The refresh token is unknown, expired or no longer valid. Authorize again.');

/**
 * Every refresh issues a new refresh token. `issuePair` explains when the old one stops working, `settle` does it. A
 * refresh token presented after that was copied, so the whole family is revoked.
 */
export function rotate(
  services: Services,
  client: Client,
  presented: string,
  asked: readonly string[],
  now: number,
): Outcome {
  return services.state.transaction((): Outcome => {
    const row = one<RefreshRow>(
      services.state,
      `SELECT r.no, r.family, r.expires_at, r.ended_at, u.deactivated_at AS user_gone
       FROM refresh_tokens r JOIN grants g ON g.family = r.family JOIN users u ON u.no = g.user_no
       WHERE r.digest = ?`,
      [digestOf(presented)],
    );
    if (row === undefined) return noSuchToken();
    const grant = grantOf(services, row.family);
    if (grant.client_id !== client.clientId || grant.revoked_at !== null) return noSuchToken();
    if (row.ended_at !== null) {
      endFamily(services, row.family, 'refresh_token_reused', now);
      services.logger.warn(
        { component: 'oauth', application: client.app.id },
        'refresh token presented again',
      );
      return noSuchToken();
    }
    if (row.expires_at <= now || row.user_gone !== null) return noSuchToken();
    if (!passesReview(services.state, client.app, client.realm, grant.user_no)) {
      return refused('invalid_grant', 'The application has not passed review.');
    }
    const granted = grant.scopes.split(' ');
    const scopes = asked.length === 0 ? granted : canonicalScopes(asked);
    const allowed = expandScopes(granted);
    const beyond = scopes.filter((scope) => !allowed.has(scope));
    if (beyond.length > 0) return refused('invalid_scope', `Not granted originally: ${beyond.join(' ')}.`);
    return { kind: 'issued', pair: issuePair(services, grant, scopes, row.no, now), scopes };
  })();
}
