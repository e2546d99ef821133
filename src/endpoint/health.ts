import type { WebhookEndpoint } from '../client/webhook-endpoints.js';
import { instantFromMillis } from '../domain/instant.js';
import type { EndpointHealth } from './state.js';

export interface Known {
  /** The stored result of the check before, which may be of an earlier process. */
  readonly before: EndpointHealth | null;
  /** When the platform last attempted a delivery before the first check of this process. */
  readonly deliveryBefore: string | null;
}

/** Returns the result of a check that could be made. */
export function healthOf(endpoint: WebhookEndpoint, known: Known, now: number): EndpointHealth {
  const { lastDeliveryAt, lastDeliveryStatus } = endpoint;
  const failingSince = failedWhileOff(endpoint, known) ? null : endpoint.failingSince;
  return {
    checkedAt: instantFromMillis(now),
    reenabledAt: null,
    state: failingSince === null ? 'ok' : 'failing',
    failingSince,
    lastDeliveryAt,
    lastDeliveryStatus,
    code: null,
    message: failingSince === null ? null : `deliveries have failed since ${failingSince}`,
    hint: failingSince === null ? null : 'check that receiver.endpoint.publicUrl reaches receiver.listen',
  };
}

/**
 * Returns whether deliveries failed only while nothing listened, as during an upgrade: no earlier check found them, and none
 * was attempted since this process checked first. The platform repeats them, and the next attempt shows whether they
 * arrive.
 */
function failedWhileOff(
  { failingSince, lastDeliveryAt }: WebhookEndpoint,
  { before, deliveryBefore }: Known,
): boolean {
  return before !== null && before.failingSince !== failingSince && lastDeliveryAt === deliveryBefore;
}
