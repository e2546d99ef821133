import type { EventName } from '../wire/events.js';

/**
 * A fault injected into one webhook delivery attempt. The delivery loop asks for one per attempt and applies it.
 * Only a sandbox sets hazards.
 */
export interface DeliveryHazard {
  /** Wait this long before the attempt. */
  readonly delayMillis?: number;
  /** Do not send. The attempt fails with a connection error and is retried as usual. */
  readonly drop?: boolean;
  /** Do not send. The attempt counts as answered with this HTTP status. */
  readonly status?: number;
  /** Do not send, but record the delivery as successful: the event is lost. */
  readonly lose?: boolean;
  /** Send the same bytes twice. */
  readonly duplicate?: boolean;
  /** Hold until the next delivery to this endpoint was sent, so that the two arrive in reverse order. */
  readonly hold?: boolean;
}

export interface Hazards {
  /** Returns the fault for the next attempt to deliver this event, or null for none. */
  forDelivery(event: EventName): DeliveryHazard | null;
}

export const noHazards: Hazards = { forDelivery: () => null };
