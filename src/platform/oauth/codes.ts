import { authorizationCodeSeconds } from '../../wire/limits.js';
import { connectPerson, endFamily } from '../installations/connections.js';
import type { Services } from '../services.js';
import { digestOf, newSecret } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import type { Client } from './clients.js';
import { grantOf, startGrant } from './grants.js';
import { type Outcome, refused } from './outcome.js';
import { issuePair } from './pairs.js';
import { answersChallenge } from './pkce.js';
import { passesReview } from './review-gate.js';

export interface Consent {
  readonly client: Client;
  readonly userNo: number;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly challenge: string;
}

/** Creates a grant after consent and returns its authorization code. */
export function issueCode(services: Services, consent: Consent, now: number): string {
  const { client } = consent;
  const code = newSecret(services.random, `ac_${client.realm}_`);
  services.state.transaction(() => {
    const wish = { ...consent, applicationNo: client.app.no, clientId: client.clientId };
    const { family } = startGrant(services, wish, now);
    run(
      services.state,
      'INSERT INTO authorization_codes (digest, family, redirect_uri, challenge, expires_at) VALUES (?, ?, ?, ?, ?)',
      [digestOf(code), family, consent.redirectUri, consent.challenge, now + authorizationCodeSeconds * 1000],
    );
  })();
  return code;
}

interface CodeRow {
  readonly family: string;
  readonly redirect_uri: string;
  readonly challenge: string;
  readonly expires_at: number;
  readonly used_at: number | null;
  readonly user_gone: number | null;
}

export interface Exchanged {
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

/** The same message for every invalid code, so that it reveals nothing about the code. */
const noSuchCode = () =>
  refused('invalid_grant', 'The code is unknown, expired, used, or was issued for another request.');

export function exchangeCode(services: Services, client: Client, given: Exchanged, now: number): Outcome {
  return services.state.transaction((): Outcome => {
    const row = one<CodeRow>(
      services.state,
      `SELECT c.family, c.redirect_uri, c.challenge, c.expires_at, c.used_at, u.deactivated_at AS user_gone
       FROM authorization_codes c JOIN grants g ON g.family = c.family JOIN users u ON u.no = g.user_no
       WHERE c.digest = ?`,
      [digestOf(given.code)],
    );
    if (row === undefined) return noSuchCode();
    const grant = grantOf(services, row.family);
    if (grant.client_id !== client.clientId) return noSuchCode();
    if (row.used_at !== null) {
      endFamily(services, row.family, 'code_replayed', now);
      services.logger.warn(
        { component: 'oauth', application: client.app.id },
        'authorization code presented twice',
      );
      return noSuchCode();
    }
    const matches = row.redirect_uri === given.redirectUri && answersChallenge(given.verifier, row.challenge);
    if (!matches || row.expires_at <= now || grant.revoked_at !== null || row.user_gone !== null) {
      return noSuchCode();
    }
    if (!passesReview(services.state, client.app, client.realm, grant.user_no)) {
      return refused('invalid_grant', 'The application has not passed review.');
    }
    run(services.state, 'UPDATE authorization_codes SET used_at = ? WHERE digest = ?', [
      now,
      digestOf(given.code),
    ]);
    connectPerson(services, grant, now);
    const scopes = grant.scopes.split(' ');
    return { kind: 'issued', pair: issuePair(services, grant, scopes, null, now), scopes };
  })();
}
