import type { Clock } from '../runtime/clock.js';
import { activityRoutes } from './activity/routes.js';
import { applicationControl } from './applications/control.js';
import { applicationRoutes } from './applications/routes.js';
import { attributionControl } from './attribution/control.js';
import { attributionRoutes } from './attribution/routes.js';
import { campaignRoutes } from './campaigns/routes.js';
import { catalogRoutes } from './catalog/routes.js';
import { companyRoutes } from './companies/routes.js';
import { connectedAppRoutes } from './connected-apps/routes.js';
import { dealRoutes } from './deals/routes.js';
import type { Feature } from './feature.js';
import { installationRoutes } from './installations/routes.js';
import { commentAction } from './intents/comment-action.js';
import { dealActions, proposeDeal } from './intents/deal-actions.js';
import { intents } from './intents/routes.js';
import { syndicateActions } from './intents/syndicate-actions.js';
import { startPublishing } from './investments/publisher.js';
import { investmentRoutes } from './investments/routes.js';
import { inviteLinkRoutes } from './invite-links/routes.js';
import { joinControl } from './join-sessions/control.js';
import { startExpiry } from './join-sessions/expiry-loop.js';
import { joinSessionRoutes } from './join-sessions/routes.js';
import { memberRoutes } from './members/routes.js';
import { followTokenUse, oauthRoutes } from './oauth/routes.js';
import { documentation } from './openapi/routes.js';
import { portalRoutes } from './portal/routes.js';
import { portfolioRoutes } from './portfolio/routes.js';
import { referralControl, referralRoutes } from './referrals/routes.js';
import type { Services } from './services.js';
import { settleSessions, startSettling } from './sessions/lifecycle.js';
import { sessionRoutes } from './sessions/routes.js';
import { syndicateControl } from './syndicates/keys.js';
import { syndicateRoutes } from './syndicates/routes.js';
import { userRoutes } from './users/routes.js';
import { webhooks } from './webhooks/webhooks.js';

const features: readonly Feature[] = [
  { routes: investmentRoutes, start: startPublishing },
  { routes: oauthRoutes, start: followTokenUse },
  { routes: applicationRoutes, sandboxRoutes: applicationControl },
  { routes: installationRoutes },
  { routes: syndicateRoutes, sandboxRoutes: syndicateControl },
  { routes: memberRoutes },
  { routes: joinSessionRoutes, sandboxRoutes: joinControl, start: startExpiry },
  { routes: dealRoutes(proposeDeal) },
  intents([...syndicateActions, ...dealActions, commentAction]),
  { routes: referralRoutes, sandboxRoutes: referralControl },
  { routes: inviteLinkRoutes },
  { routes: attributionRoutes, sandboxRoutes: attributionControl },
  { routes: sessionRoutes, start: (services) => startSettling(services, settleSessions) },
  { routes: catalogRoutes },
  { routes: companyRoutes },
  { routes: userRoutes },
  { routes: campaignRoutes },
  { routes: portfolioRoutes },
  { routes: connectedAppRoutes },
  { routes: activityRoutes },
];

/**
 * Returns the features of one platform; some own sockets and loops. `wall` is the real clock. Webhooks subscribe before
 * any other feature starts, so events that fell due while the platform was down are delivered too.
 */
export function featuresOf(services: Services, wall: Clock): readonly Feature[] {
  const hooks = webhooks(services, { wall });
  const all = [hooks, ...features, { routes: portalRoutes(hooks) }];
  const operations = all.flatMap(({ routes }) => routes.map(({ operation }) => operation));
  return [...all, documentation(operations, services.options.headers)];
}
