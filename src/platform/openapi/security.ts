import type { oas31 } from 'zod-openapi';
import { paths } from '../../wire/paths.js';
import type { Operation } from '../contract/operation.js';
import { allScopes, reservedScopes, universalScope } from '../contract/scopes.js';

const reserved: readonly string[] = reservedScopes;
const offered = Object.fromEntries(
  allScopes.filter((scope) => !reserved.includes(scope)).map((scope) => [scope, '']),
);
const flow = { tokenUrl: paths.token, refreshUrl: paths.token, scopes: offered };

const schemes: Readonly<Record<string, oas31.SecuritySchemeObject>> = {
  oauth: {
    type: 'oauth2',
    description:
      'Authorization code with PKCE (S256) for users, client credentials for applications. Sandbox keys are ' +
      `authorized at ${paths.sandboxAuthorize}.`,
    flows: {
      authorizationCode: { ...flow, authorizationUrl: paths.authorize },
      clientCredentials: { tokenUrl: paths.token, scopes: { [universalScope]: '' } },
    },
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

/** Returns the security schemes that at least one operation uses. */
export function securitySchemesOf(
  operations: readonly Operation[],
): Record<string, oas31.SecuritySchemeObject> {
  const used = new Set(operations.flatMap((operation) => securityOf(operation).flatMap(Object.keys)));
  return Object.fromEntries(Object.entries(schemes).filter(([name]) => used.has(name)));
}

/** One requirement per scope, because any one is sufficient. Reserved scopes are never granted and are left out. */
export function securityOf(operation: Operation): oas31.SecurityRequirementObject[] {
  if (operation.scopes === null) return [];
  if (operation.scopes.length === 0) return [{ oauth: [] }];
  const given = operation.scopes.filter((scope) => !reserved.includes(scope));
  return given.flatMap((scope) => [
    { oauth: [scope] },
    { installation: [scope] },
    ...(scope === universalScope ? [{ publishableKey: [] }] : []),
  ]);
}
