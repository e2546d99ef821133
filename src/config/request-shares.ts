import { rateLimits } from '../wire/limits.js';
import type { Config } from './config.js';

/*
 * How the sources of one process share the requests of its address.
 *
 * The platform counts 1,000 requests an hour for each token, and 5,000 for each client address. Few sources cannot use up
 * the address. Beyond that, its limit is divided:
 *
 *   timed ticks     two fifths; their interval grows with the number of sources
 *   grant checks    a tenth; so does the time between two checks of a source
 *   webhook ticks   at least a tenth, and whatever the others leave
 *   first listings  the rest: they wait while less is left than the others may still need before the hour ends
 *   catalogs        what listings may use, less a fifth
 */

export interface SharedRequests {
  /** Time between two timed ticks of a source, and the same while webhooks announce every change. */
  readonly intervalMillis: number;
  readonly idleIntervalMillis: number;
  /** Time between two checks of what the token of a source may read. */
  readonly grantMillis: number;
  /** How timed ticks and grant checks are limited together; null while they cannot use up the address. */
  readonly timed: TimedLimit | null;
}

export interface TimedLimit {
  readonly perHour: number;
  /** Requests that may be made at once after a pause. */
  readonly atOnce: number;
  /** What listings leave of the limit for webhooks, and for an hour of timed ticks. */
  readonly forWebhooks: number;
  readonly neededPerHour: number;
  /** What catalogs leave in addition. */
  readonly forListings: number;
}

export interface SharesWanted {
  readonly intervalSeconds: number;
  readonly idleIntervalSeconds: number;
  /** Null for a platform without limits. */
  readonly requestsPerHour: number | null;
  /** Requests an hour that all tokens of an address may make; null when that is unknown. */
  readonly addressPerHour: number | null;
}

/** Returns what the configuration says about it. A platform that allows one token more than an address has limits of its own. */
export function sharesWanted({ sync, platform }: Pick<Config, 'sync' | 'platform'>): SharesWanted {
  const { requestsPerHour } = platform;
  const { limit } = rateLimits.ip;
  return {
    intervalSeconds: sync.intervalSeconds,
    idleIntervalSeconds: sync.idleIntervalSeconds,
    requestsPerHour,
    addressPerHour: requestsPerHour === null || requestsPerHour > limit ? null : limit,
  };
}

const hourMillis = 60 * 60_000;

const tickShare = 0.4;
const grantShare = 0.1;
const webhookShare = 0.1;
const listingShare = 0.2;
/** After a start, so many timed ticks run at once. */
const burstShare = 0.1;

/** Returns how `sources` sources of one process are read, by what the platform allows its address. */
export function sharesFor(sources: number, wanted: SharesWanted): SharedRequests {
  const { requestsPerHour, addressPerHour } = wanted;
  const intervalMillis = wanted.intervalSeconds * 1_000;
  const idleIntervalMillis = wanted.idleIntervalSeconds * 1_000;
  if (requestsPerHour === null || addressPerHour === null || sources * requestsPerHour <= addressPerHour)
    return { intervalMillis, idleIntervalMillis, grantMillis: hourMillis, timed: null };
  const evenly = (share: number) => (sources * hourMillis) / (addressPerHour * share);
  const paced = Math.max(intervalMillis, evenly(tickShare));
  const grantMillis = Math.max(hourMillis, evenly(grantShare));
  return {
    intervalMillis: paced,
    idleIntervalMillis: Math.max(idleIntervalMillis, paced),
    grantMillis,
    timed: {
      perHour: addressPerHour * (tickShare + grantShare),
      atOnce: addressPerHour * burstShare,
      forWebhooks: addressPerHour * webhookShare,
      neededPerHour: sources * (hourMillis / paced + hourMillis / grantMillis),
      forListings: addressPerHour * listingShare,
    },
  };
}
