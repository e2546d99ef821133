import type { Access, Config } from '../config/config.js';
import { sharesFor, sharesWanted } from '../config/request-shares.js';
import { type Instant, millisOf } from '../domain/instant.js';
import type { SourceStatus as StoredStatus } from '../store/reads/status.js';
import { rateLimits, webhookReserve } from '../wire/limits.js';
import { type ListingLeft, type ListingQuota, listingLeft } from './listing-left.js';
import type { WebhookSpacing } from './webhook-spacing.js';

export interface ListingParts {
  readonly source: StoredStatus;
  /** As the daemon of this host that reads the source reports it; null without one. */
  readonly spacing: WebhookSpacing | null;
  /** When that daemon started; null where that is not known. */
  readonly since: string | null;
  /** Null where there is none: the quota is then the usual one. */
  readonly config: Config | null;
  /** All sources whose listing is in progress. */
  readonly listing: readonly string[];
  /** How many of them the process reads that reads the source. */
  readonly inTurn: number;
  readonly sourcesCount: number;
  readonly now: number;
}

/**
 * Returns how far the listing of a source is; null without one in progress. The time that is left is estimated only while a
 * daemon of this host reads the listing, or it waits for the quota.
 */
export function listingOf(parts: ListingParts): ListingLeft | null {
  const { source, config, now } = parts;
  if (source.listing_started_at === null) return null;
  return listingLeft({
    now,
    rows: source.rows_incoming,
    // A re-listing reads about as many records as are stored.
    rowsExpected: source.rows_expected ?? (source.readable === 1 ? source.rows : null),
    perPage: config?.sync.perPage ?? Math.max(1, source.rows_incoming / Math.max(1, source.pages_incoming)),
    pageMillis: waitsForOthers(parts) ? null : pageMillisOf(parts),
    quotas: quotasOf(parts),
  });
}

/** More listings than run at the same time wait for each other, and how long is not known. */
const waitsForOthers = ({ config, inTurn }: ListingParts): boolean =>
  config !== null && inTurn > config.sync.concurrency;

/** Returns the time that a page took, without waits between ticks; null before that can be told. */
function pageMillisOf({ source, since, now }: ListingParts): number | null {
  const { listing_started_at, last_tick_at, pages_incoming, ticks } = source;
  if (listing_started_at === null || pages_incoming === 0) return null;
  const begun = Date.parse(listing_started_at);
  const ended = ticks.filter(
    ({ started_at, took_ms, pages }) => pages > 0 && Date.parse(started_at) + took_ms >= begun,
  );
  const pages = ended.reduce((sum, tick) => sum + tick.pages, 0);
  if (pages > 0) return ended.reduce((sum, { took_ms }) => sum + took_ms, 0) / pages;
  // The tick that began the listing still runs, so nothing was waited for. One that was killed has left no record of its end.
  const isKilled = since !== null && Date.parse(since) > begun;
  const isFirst = !isKilled && (last_tick_at === null || Date.parse(last_tick_at) < begun);
  return isFirst ? Math.max(0, now - begun) / pages_incoming : null;
}

function quotasOf(parts: ListingParts): readonly ListingQuota[] | null {
  const { source, spacing, config, now } = parts;
  if (source.state === 'halted' || source.paused_at !== null) return null;
  const allowed = config?.platform.requestsPerHour;
  const { retry_at, last_error_code } = source;
  if (retry_at !== null && millisOf(retry_at as Instant) > now) {
    if (last_error_code !== 'rate_limited') return null;
    const limit = allowed ?? rateLimits.token.limit;
    return [ofToken(parts, { limit, left: 0, resetsAt: millisOf(retry_at as Instant) })];
  }
  if (spacing === null) return null;
  if (allowed === null) return [];
  const { quota } = spacing;
  if (quota === null) return null;
  // With many sources, the limit of the address decides as well, and how much of it others will use is not known.
  const shares = config === null ? null : sharesFor(parts.sourcesCount, sharesWanted(config));
  if (quota.of === 'address' || (shares !== null && shares.timed !== null)) return null;
  return [
    ofToken(parts, {
      limit: quota.limit,
      left: quota.left,
      resetsAt: millisOf(quota.resets_at as Instant),
    }),
  ];
}

function ofToken(
  { source, config, listing }: ListingParts,
  quota: Pick<ListingQuota, 'limit' | 'left' | 'resetsAt'>,
): ListingQuota {
  const configured = config?.sources ?? [];
  const own = configured.find(({ name }) => name === source.source);
  const sharing =
    own === undefined
      ? []
      : configured.filter(
          ({ name, access }) => listing.includes(name) && keyOf(access) === keyOf(own.access),
        );
  return { ...quota, kept: webhookReserve(quota.limit), sharedBy: Math.max(1, sharing.length) };
}

/** Equal for sources whose requests count against the same token, as far as the configuration tells. */
function keyOf(access: Access): string {
  if (access.kind === 'token') return access.token.origin;
  return JSON.stringify(access.kind === 'stored' ? access.key : access.at);
}
