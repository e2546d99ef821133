import { setMaxListeners } from 'node:events';
import { defined } from '../../domain/defined.js';
import { type Clock, systemClock } from '../../runtime/clock.js';
import type { Closable } from '../../runtime/lifecycle.js';
import type { Route } from '../http/route.js';
import type { Services } from '../services.js';
import type { Wire } from './attempt.js';
import { controlRoutes } from './control.js';
import { DeliveryLoop } from './delivery-loop.js';
import { enqueue } from './enqueue.js';
import { type Resolve, systemResolve } from './guarded-lookup.js';
import { resendDelivery } from './portal.js';
import { webhookRoutes } from './routes.js';

export interface WebhookSettings {
  /** Real time for signatures and timeouts, independent of the platform's clock. */
  readonly wall?: Clock;
  readonly resolve?: Resolve;
  /** Additional trusted certificate authorities. */
  readonly ca?: string;
}

export interface Webhooks {
  readonly routes: readonly Route[];
  readonly sandboxRoutes: readonly Route[];
  /** Resends a delivery without delay. */
  resend(deliveryId: string): void;
  /** Subscribes to events and starts sending, beginning with deliveries left pending by an earlier run. */
  start(): Closable;
}

/** Returns the webhooks feature of one platform. Before `start` it serves requests and sends only test events. */
export function webhooks(services: Services, settings: WebhookSettings = {}): Webhooks {
  const wire: Wire = {
    wall: settings.wall ?? systemClock,
    resolve: settings.resolve ?? systemResolve,
    ...defined({ ca: settings.ca }),
  };
  const loop = new DeliveryLoop(services, wire);
  const stop = new AbortController();
  // One listener per test send in flight.
  setMaxListeners(0, stop.signal);
  return {
    routes: webhookRoutes(wire, stop.signal),
    sandboxRoutes: controlRoutes(loop),
    resend: (id) => loop.wakeFor([resendDelivery(services.state, id, services.clock.now())]),
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
