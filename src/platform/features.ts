import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import { applicationControl } from './applications/control.js';
import { applicationRoutes } from './applications/routes.js';
import type { Route } from './http/route.js';
import { installationRoutes } from './installations/routes.js';
import { startPublishing } from './investments/publish-loop.js';
import { investmentRoutes } from './investments/routes.js';
import { followTokenUse, oauthRoutes } from './oauth/routes.js';
import { documentation } from './openapi/routes.js';
import type { Services } from './services.js';
import { webhooks } from './webhooks/webhooks.js';

/** One folder of the platform: what it answers, and what it does besides answering. */
export interface Feature {
  readonly routes: readonly Route[];
  /** Control calls of its own, below `/_sandbox`; only a sandbox serves them. */
  readonly sandboxRoutes?: readonly Route[];
  /** Subscribes to events and starts its loops; closed with the platform. */
  start?(services: Services): Closable;
}

const features: readonly Feature[] = [
  { routes: investmentRoutes, start: startPublishing },
  { routes: oauthRoutes, start: followTokenUse },
  { routes: applicationRoutes, sandboxRoutes: applicationControl },
  { routes: installationRoutes },
];

/** All of them, for one platform: some hold sockets and loops of their own. `wall` is real time. */
export function featuresOf(services: Services, wall: Clock): readonly Feature[] {
  const all = [...features, webhooks(services, { wall })];
  const operations = all.flatMap(({ routes }) => routes.map(({ operation }) => operation));
  return [...all, documentation(operations, services.options.headers)];
}
