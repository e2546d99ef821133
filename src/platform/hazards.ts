/**
 * What goes wrong with one attempt to deliver a webhook. The delivery loop asks once per attempt and does as told;
 * the platform itself has no hazards, a sandbox lets them be set.
 */
export interface DeliveryHazard {
  /** Wait this long before the attempt. */
  readonly delayMillis?: number;
  /** Do not send; the attempt failed with a broken connection and is retried like every other. */
  readonly drop?: boolean;
  /** Do not send; the attempt counts as answered with this status. */
  readonly status?: number;
  /** Do not send, ever, and believe it was delivered: lost for good. */
  readonly lose?: boolean;
  /** Send twice, the same bytes. */
  readonly duplicate?: boolean;
  /** Keep back until the next delivery to this endpoint went out: the two arrive in the other order. */
  readonly hold?: boolean;
}

export interface Hazards {
  /** Null most of the time: nothing goes wrong. */
  forDelivery(): DeliveryHazard | null;
}

export const noHazards: Hazards = { forDelivery: () => null };
