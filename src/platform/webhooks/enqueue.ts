import type { PlatformEvent } from '../events.js';
import type { Services } from '../services.js';
import { newId } from '../state/secrets.js';
import {
  concernsInstallation,
  type Recipient,
  recipientsOf,
  type Subscriber,
  subscribersOf,
} from './audience.js';
import { cancelForInstallation, insertDelivery } from './deliveries.js';
import { envelope, installationBlock } from './envelope.js';

/**
 * Inserts the deliveries of an event inside the transaction of its cause, so both commit together. Returns the endpoints
 * with new deliveries.
 */
export function enqueue(services: Services, event: PlatformEvent): ReadonlySet<number> {
  const { state } = services;
  // The application may no longer receive pending events of a revoked installation.
  if (event.name === 'installation.revoked' && event.installationNo !== null) {
    cancelForInstallation(state, event.installationNo, event.at);
  }
  const subscribers = subscribersOf(state, event.name, event.realm);
  const touched = new Set<number>();
  if (subscribers.length === 0) return touched;

  const eventId = event.id ?? newId(services.random, 'evt_');
  const about = { id: eventId, event: event.name, at: event.at, mode: event.realm };
  const recipients = new Map<number, readonly Recipient[]>();
  const bodies = new Map<number, string>();
  for (const subscriber of subscribers) {
    const known = recipients.get(subscriber.application_no);
    const audience = known ?? recipientsOf(state, event, subscriber.application_no);
    recipients.set(subscriber.application_no, audience);
    for (const recipient of share(subscriber, audience, event, services.options.deliverPerInstallation)) {
      const body =
        bodies.get(recipient.no) ??
        JSON.stringify(envelope(about, installationBlock(recipient, false), event.dataFor(recipient)));
      bodies.set(recipient.no, body);
      insertDelivery(state, {
        id: newId(services.random, 'dlv_'),
        endpointNo: subscriber.no,
        installationNo: recipient.no,
        eventId,
        event: event.name,
        body,
        now: services.clock.now(),
      });
      touched.add(subscriber.no);
    }
  }
  return touched;
}

/** Returns the recipients for which one endpoint of the application gets a delivery. */
function share(
  subscriber: Subscriber,
  audience: readonly Recipient[],
  event: PlatformEvent,
  perInstallation: boolean,
): readonly Recipient[] {
  if (subscriber.installation_no === null) return perInstallation ? audience : audience.slice(0, 1);
  if (concernsInstallation(event.name)) return [];
  return audience.filter((recipient) => recipient.no === subscriber.installation_no);
}
