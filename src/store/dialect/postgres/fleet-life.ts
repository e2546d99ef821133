/**
 * A member is considered dead after this long without a heartbeat: four intervals, so that one late heartbeat moves no
 * source. Heartbeats are timestamped and compared by the database's clock.
 */
export const memberMillis = 8_000;

/**
 * Returns the SQL condition that is true while the member in table `m` is alive. A heartbeat in the future was written
 * before the server's clock was set back, and counts as none: a dead member must not keep its sources until that time
 * comes, and a living member sends the next heartbeat within seconds.
 */
export const isAlive = (m: string) =>
  `(${m}.seen_at >= fleet_clock(${memberMillis}) AND ${m}.seen_at <= fleet_clock(-${memberMillis}))`;
