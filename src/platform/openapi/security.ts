import type { oas31 } from 'zod-openapi';
import { paths } from '../../wire/paths.js';
import { callersOf, type Operation } from '../contract/operation.js';
import { allScopes, type CredentialKind, canHold, reservedScopes } from '../contract/scopes.js';

const reserved: readonly string[] = reservedScopes;
const offered = allScopes.filter((scope) => !reserved.includes(scope));
const scopesOf = (kind: CredentialKind): Record<string, string> =>
  Object.fromEntries(offered.filter((scope) => canHold(kind, scope)).map((scope) => [scope, '']));

const schemes: Readonly<Record<string, oas31.SecuritySchemeObject>> = {
  oauth: {
    type: 'oauth2',
    description: `Authorization code with PKCE (S256), for users. Sandbox keys are authorized at ${paths.sandboxAuthorize}.`,
    flows: {
      authorizationCode: {
        authorizationUrl: paths.authorize,
        tokenUrl: paths.token,
        refreshUrl: paths.token,
        scopes: scopesOf('user'),
      },
    },
  },
  clientCredentials: {
    type: 'oauth2',
    description: 'Client credentials, for the application itself.',
    flows: { clientCredentials: { tokenUrl: paths.token, scopes: scopesOf('application') } },
  },
  installation: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The token of an installation, or the key of a syndicate. It is bound to its target and does not expire.',
  },
  publishableKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A client id (pk_live_…, pk_test_…) as the bearer credential. Allows only the public catalog.',
  },
};

const schemeOf: Readonly<Record<CredentialKind, string>> = {
  user: 'oauth',
  installation: 'installation',
  syndicate_key: 'installation',
  application: 'clientCredentials',
  publishable: 'publishableKey',
};

/** Returns the security schemes that at least one operation uses. */
export function securitySchemesOf(
  operations: readonly Operation[],
): Record<string, oas31.SecuritySchemeObject> {
  const used = new Set(operations.flatMap((operation) => securityOf(operation).flatMap(Object.keys)));
  return Object.fromEntries(Object.entries(schemes).filter(([name]) => used.has(name)));
}

/**
 * Returns one requirement per credential the server accepts and scope it can hold, because any one is sufficient. A key
 * carries no scopes. Reserved scopes are never granted and are left out.
 */
export function securityOf(operation: Operation): oas31.SecurityRequirementObject[] {
  const given = operation.scopes?.filter((scope) => !reserved.includes(scope)) ?? [];
  const found = callersOf(operation).flatMap((kind) =>
    given.length === 0 || kind === 'publishable'
      ? [{ [schemeOf[kind]]: [] }]
      : given.filter((scope) => canHold(kind, scope)).map((scope) => ({ [schemeOf[kind]]: [scope] })),
  );
  // Installations and syndicate keys share a scheme.
  return [...new Map(found.map((requirement) => [JSON.stringify(requirement), requirement])).values()];
}
