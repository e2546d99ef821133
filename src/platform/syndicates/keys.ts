import { z } from 'zod';
import { grantedScopes } from '../contract/scopes.js';
import { created } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import type { Route } from '../http/route.js';
import { insertToken } from '../oauth/tokens.js';
import { controlRoute } from '../sandbox/control/control-route.js';
import type { Realm } from '../state/secrets.js';
import { one } from '../state/statements.js';

const wish = z.strictObject({
  scopes: z.array(z.string()).min(1).optional(),
  /** A client id of the application that the key belongs to. Default: the first application of the sandbox. */
  application: z.string().optional(),
});

/**
 * Syndicates create API keys on the platform's own pages, which are not part of the API. A control call of the sandbox
 * replaces them. A key reaches what an installation on the syndicate with its scopes reaches, and does not expire.
 */
export const syndicateControl: readonly Route[] = [
  controlRoute('POST', '/_sandbox/syndicates/{id}/keys', wish, ({ services, params, now }, body) => {
    const { state } = services;
    const syndicate = one<{ no: number; realm: Realm }>(
      state,
      'SELECT no, realm FROM syndicates WHERE id = ? AND deleted_at IS NULL',
      [params.id ?? ''],
    );
    if (syndicate === undefined) throw notFound('The syndicate');
    const application = one<{ no: number }>(
      state,
      `SELECT a.no FROM applications a WHERE a.status = 'active' AND ($client IS NULL
         OR EXISTS (SELECT 1 FROM clients c WHERE c.application_no = a.no AND c.client_id = $client)) ORDER BY a.no`,
      { client: body.application ?? null },
    );
    if (application === undefined) throw notFound('The application');
    const scopes = body.scopes ?? grantedScopes;
    const beyond = scopes.filter((scope) => !(grantedScopes as readonly string[]).includes(scope));
    if (beyond.length > 0) {
      throw new Problem(400, 'invalid_params', `scopes: a key cannot hold ${beyond.join(', ')}.`);
    }
    const { token } = insertToken(
      services,
      {
        kind: 'syndicate_key',
        realm: syndicate.realm,
        applicationNo: application.no,
        syndicateNo: syndicate.no,
        scopes,
      },
      now,
    );
    return created({ key: token, syndicate: params.id, scopes });
  }),
];
