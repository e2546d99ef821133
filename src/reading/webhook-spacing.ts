/** How far apart a daemon starts the ticks of a source that webhooks ask for, and why. */
export interface WebhookSpacing {
  /**
   * `plenty`: each webhook starts a tick at once. `scarce`: the quota has to last until its window ends. `spent`: no
   * request is left until then. `backing_off`: the last tick failed. `halted`: the source waits for a person.
   */
  readonly reason: 'plenty' | 'scarce' | 'spent' | 'backing_off' | 'halted';
  /** The time between two webhook ticks that the quota allows; 0 while there is plenty. */
  readonly gap_seconds: number;
  /** How long a webhook that arrives now waits for its tick. */
  readonly wait_seconds: number;
  /** The limit that decides; null without a limit or before the first request. */
  readonly quota: {
    readonly of: 'token' | 'address';
    readonly limit: number;
    readonly left: number;
    /** The end of the window. */
    readonly resets_at: string;
    /** How many sources divide what is left now, because webhooks tick them. 1 while there is plenty. */
    readonly shared_by: number;
    /** How many of these other daemons of the fleet follow. */
    readonly shared_elsewhere: number;
  } | null;
}

/** By source; without sources that no daemon on this host follows. */
export type WebhookSpacings = Readonly<Record<string, WebhookSpacing>>;
