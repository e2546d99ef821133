import { paths } from '../../wire/paths.js';
import { selfServeScopes, universalScope } from '../contract/scopes.js';
import { baseUrl } from '../http/base-url.js';
import { type Handler, ok } from '../http/exchange.js';
import type { Realm } from '../state/secrets.js';

/** Returns the RFC 8414 metadata. Lists only scopes that can be requested, so not the reserved ones. */
export const discovery =
  (realm: Realm): Handler =>
  (exchange) => {
    const base = baseUrl(exchange);
    const authorize = realm === 'live' ? paths.authorize : paths.sandboxAuthorize;
    const methods = ['none', 'client_secret_post'];
    return ok({
      issuer: realm === 'live' ? base : `${base}/sandbox`,
      authorization_endpoint: `${base}${authorize}`,
      token_endpoint: `${base}${paths.token}`,
      revocation_endpoint: `${base}${paths.revoke}`,
      scopes_supported: [universalScope, ...selfServeScopes],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
    });
  };
