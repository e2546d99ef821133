import { callersOf } from '../../contract/operation.js';
import type { CredentialKind } from '../../contract/scopes.js';
import type { Caller } from '../caller.js';
import { callerOf, operationOf, type Step } from '../exchange.js';
import { Problem } from '../problem.js';
import { bearer } from './bearer.js';
import { refuseRemoved } from './refuse-removed.js';
import { refuseWithout } from './refuse-without.js';

/**
 * Requires a credential of a kind that the operation declares, with one of its scopes. Throws a 403 otherwise. The
 * OpenAPI document lists the same declaration.
 */
const allowed: Step = (exchange) => {
  const operation = operationOf(exchange);
  const { kind } = callerOf(exchange);
  const kinds: readonly CredentialKind[] = callersOf(operation);
  const scopes = operation.scopes ?? [];
  // Referral codes: users and installations can never hold the scope, so it would not help to ask for it.
  if (kinds.every((one) => one === 'application') && kind !== 'application' && kind !== 'publishable') {
    throw new Problem(403, 'app_credentials_required', 'This operation needs a client-credentials token.', {
      remediation: 'Ask the token endpoint with grant_type client_credentials.',
    });
  }
  if (scopes.length > 0) refuseWithout(exchange, scopes);
  if (!kinds.includes(kind)) throw wrongKind(kind, kinds, scopes);
};

function wrongKind(
  kind: Caller['kind'],
  kinds: readonly CredentialKind[],
  scopes: readonly string[],
): Problem {
  if (!isWithoutUser(kind)) {
    const holders = kinds.flatMap((one) => nouns[one] ?? []).join(' or of ');
    return new Problem(403, 'forbidden', `This operation needs the token of ${holders}.`, {
      remediation: 'Authorize a user and send that access token.',
    });
  }
  return lacksUser(scopes.length > 0 ? scopes : [defaultScope]);
}

/** Returns whether the credential is of an application alone. */
export const isWithoutUser = (kind: Caller['kind']): boolean =>
  kind === 'publishable' || kind === 'application';

/** The 403 for a credential of an application alone on an operation about a user. */
export function lacksUser(required: readonly string[] = [defaultScope]): Problem {
  return new Problem(
    403,
    'insufficient_scope',
    'This operation is about a user, and this credential has none.',
    {
      details: { required },
      remediation: `Authorize a user with ${required[0]} and send that access token.`,
    },
  );
}

const nouns: Readonly<Partial<Record<CredentialKind, string>>> = {
  user: 'a user',
  installation: 'an installation',
  syndicate_key: 'a syndicate',
};

/** What the authorize step grants when no scope is requested. */
const defaultScope = 'read:profile';

/** The first steps of every route that requires a credential and declares who may use it. */
export const guarded: readonly [Step, ...Step[]] = [...bearer, refuseRemoved, allowed];
