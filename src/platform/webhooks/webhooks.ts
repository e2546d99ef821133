import { setMaxListeners } from 'node:events';
import { type Clock, systemClock } from '../../runtime/clock.js';
import type { Closable } from '../../runtime/lifecycle.js';
import type { Route } from '../http/route.js';
import type { Services } from '../services.js';
import type { Wire } from './attempt.js';
import { controlRoutes } from './control.js';
import { DeliveryLoop } from './delivery-loop.js';
import { enqueue } from './enqueue.js';
import { type Resolve, systemResolve } from './guarded-lookup.js';
import { webhookRoutes } from './routes.js';

export interface WebhookSettings {
  /** Real time, for signatures and timeouts, whatever the platform's clock says. */
  readonly wall?: Clock;
  readonly resolve?: Resolve;
  /** Certificate authorities trusted besides the usual ones. */
  readonly ca?: string;
}

export interface Webhooks {
  readonly routes: readonly Route[];
  readonly sandboxRoutes: readonly Route[];
  /** Subscribes to events and starts sending, what an earlier run left pending first. */
  start(): Closable;
}

/** The feature, for one platform. Until it is started it answers requests and sends nothing but tests. */
export function webhooks(services: Services, settings: WebhookSettings = {}): Webhooks {
  const wire: Wire = {
    wall: settings.wall ?? systemClock,
    resolve: settings.resolve ?? systemResolve,
    ...(settings.ca === undefined ? {} : { ca: settings.ca }),
  };
  const loop = new DeliveryLoop(services, wire);
  const stop = new AbortController();
  // One listener per test send that is under way.
  setMaxListeners(0, stop.signal);
  return {
    routes: webhookRoutes(wire, stop.signal),
    sandboxRoutes: controlRoutes(loop),
    start() {
      services.events.subscribe((event) => loop.wakeFor(enqueue(services, event)));
      loop.wake();
      return {
        close: () => {
          stop.abort();
          return loop.close();
        },
      };
    },
  };
}
