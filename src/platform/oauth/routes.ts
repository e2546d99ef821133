import type { Closable } from '../../runtime/lifecycle.js';
import * as operations from '../contract/oauth.js';
import { type Route, route } from '../http/route.js';
import { spendIp } from '../http/steps/spend.js';
import type { Services } from '../services.js';
import { answerAuthorize, openAuthorize } from './authorize.js';
import { discovery } from './discovery.js';
import { flat } from './form.js';
import { settle } from './pairs.js';
import { revokeEndpoint } from './revoke-endpoint.js';
import { tokenEndpoint } from './token-endpoint.js';

const anyone = spendIp('ip');

export const oauthRoutes: readonly Route[] = [
  route(operations.openAuthorize, anyone, openAuthorize('live')),
  route(operations.answerAuthorize, anyone, answerAuthorize('live')),
  route(operations.openSandboxAuthorize, anyone, openAuthorize('test')),
  route(operations.answerSandboxAuthorize, anyone, answerAuthorize('test')),
  route(operations.issueToken, anyone, spendIp('tokenEndpointIp'), flat(tokenEndpoint)),
  route(operations.revokeToken, anyone, flat(revokeEndpoint)),
  route(operations.discover, anyone, discovery('live')),
  route(operations.discoverSandbox, anyone, discovery('test')),
];

/** Settles a rotation on the first use of an access token. */
export function followTokenUse(services: Services): Closable {
  services.events.onFirstUse((tokenNo, now) => settle(services, tokenNo, now));
  return { close: async () => {} };
}
