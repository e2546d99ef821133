/**
 * A member of the fleet that told for this long of no life is taken for dead: four beats, so that one that comes late
 * moves nothing. Told and judged on the server's clock.
 */
export const memberMillis = 8_000;

/**
 * Whether the member of table `m` is alive. A heartbeat in the future was written before the server's clock was set
 * back: a dead member must not keep its sources until that time comes, and a living one sends the next within seconds.
 */
export const isAlive = (m: string) =>
  `(${m}.seen_at >= fleet_clock(${memberMillis}) AND ${m}.seen_at <= fleet_clock(-${memberMillis}))`;
