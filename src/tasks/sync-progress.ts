import type { LimitLeft } from '../client/create-client.js';
import type { Config, SourceConfig } from '../config/config.js';
import type { PlatformConnection } from '../daemon/connect-platform.js';
import { type Instant, millisOf } from '../domain/instant.js';
import { type ListingLeft, type ListingQuota, listingLeft, together } from '../reading/listing-left.js';
import type { SourceStatus } from '../reading/status.js';
import type { Clock } from '../runtime/clock.js';
import type { PageEnvelope } from '../sync/ports.js';
import { rateLimits, webhookReserve } from '../wire/limits.js';

/** How far a run is. */
export interface SyncedSoFar {
  readonly pages: number;
  /** Records read by this run, and those that its listings had read before. */
  readonly rows: number;
  /** About how many records its listings read in all; absent while that is not known. */
  readonly rowsTotal?: number;
  /** What the listings in progress still have to do; null when none is. */
  readonly listing: ListingLeft | null;
}

export interface ProgressParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly platform: PlatformConnection;
}

interface Seen {
  readonly config: SourceConfig;
  lists: boolean;
  pages: number;
  rows: number;
  rowsExpected: number | null;
  waitedMillis: number;
  /** Until when the platform or the quota asked to wait; 0 before the first time. */
  waitsUntil: number;
}

/** With fewer pages, the speed is not known yet. */
const pagesMin = 3;

/** Follows the pages of one run of `sync`. */
export class SyncProgress {
  readonly #seen = new Map<string, Seen>();
  readonly #begun: number;
  readonly #parts: ProgressParts;

  /** `statuses`: of the sources before the run. `relists`: whether the run lists all of them from the beginning. */
  constructor(
    sources: readonly SourceConfig[],
    statuses: readonly SourceStatus[],
    relists: boolean,
    parts: ProgressParts,
  ) {
    this.#parts = parts;
    this.#begun = parts.clock.monotonic();
    const stored = new Map(statuses.map((status) => [status.source, status]));
    for (const config of sources) {
      const status = stored.get(config.name);
      const readable = status?.readable === 1;
      const continues = !relists && status !== undefined && status.listing_started_at !== null;
      this.#seen.set(config.name, {
        config,
        lists: relists || continues || !readable,
        pages: 0,
        rows: continues ? status.rows_incoming : 0,
        rowsExpected: (continues ? status.rows_expected : null) ?? (readable ? status.rows : null),
        waitedMillis: 0,
        waitsUntil: 0,
      });
    }
  }

  expects(source: string, rows: number): void {
    const seen = this.#seen.get(source);
    if (seen !== undefined) seen.rowsExpected = rows;
  }

  /** `isFirst`: the first page of a listing, which begins again after a 410. */
  page(source: string, { mode, size, hasMore }: PageEnvelope, isFirst = false): void {
    const seen = this.#seen.get(source);
    if (seen === undefined) return;
    if (isFirst) seen.rows = 0;
    seen.pages += 1;
    seen.rows += size;
    if (mode === 'listing') seen.lists = hasMore;
  }

  waits(source: string, until: Instant): void {
    const seen = this.#seen.get(source);
    if (seen !== undefined) seen.waitsUntil = millisOf(until);
  }

  waited(source: string, millis: number): void {
    const seen = this.#seen.get(source);
    if (seen !== undefined) seen.waitedMillis += millis;
  }

  get sofar(): SyncedSoFar {
    const all = [...this.#seen.values()];
    const total = (of: (seen: Seen) => number) => all.reduce((sum, seen) => sum + of(seen), 0);
    const listing = all.filter(({ lists }) => lists);
    const isKnown = all.every(({ lists, rowsExpected }) => !lists || rowsExpected !== null);
    return {
      pages: total(({ pages }) => pages),
      rows: total(({ rows }) => rows),
      ...(isKnown && all.some(({ rowsExpected }) => rowsExpected !== null)
        ? { rowsTotal: total(({ rows, lists, rowsExpected }) => (lists ? (rowsExpected ?? 0) : rows)) }
        : {}),
      listing: listing.length === 0 ? null : together(listing.map((one) => this.#leftOf(one, listing))),
    };
  }

  #leftOf(seen: Seen, listing: readonly Seen[]): ListingLeft {
    const { config, clock } = this.#parts;
    return listingLeft({
      now: clock.now(),
      rows: seen.rows,
      rowsExpected: seen.rowsExpected,
      perPage: config.sync.perPage,
      pageMillis: this.#pageMillis(seen, listing),
      quotas: this.#quotasOf(seen, listing),
    });
  }

  /** More listings than run at the same time wait for each other, and how long is not known. */
  #pageMillis({ pages, waitedMillis }: Seen, listing: readonly Seen[]): number | null {
    const { clock, config } = this.#parts;
    if (pages < pagesMin || listing.length > config.sync.concurrency) return null;
    return Math.max(0, clock.monotonic() - this.#begun - waitedMillis) / pages;
  }

  #quotasOf(
    { config: { access }, waitsUntil }: Seen,
    listing: readonly Seen[],
  ): readonly ListingQuota[] | null {
    const { platform, config, clock } = this.#parts;
    const limits = (of: SourceConfig['access']) => platform.client.limitsOf(platform.tokensOf(of));
    // A limit has several counts, of windows that begin at different times.
    const own = limits(access);
    const sharedBy = ({ key }: LimitLeft) =>
      listing.filter((one) => limits(one.config.access).some((other) => other.key === key)).length;
    if (waitsUntil > clock.now()) {
      const limit = config.platform.requestsPerHour ?? rateLimits.token.limit;
      const token = own.find(({ kind }) => kind === 'token');
      return [
        {
          ...{ limit, left: 0, kept: webhookReserve(limit), resetsAt: waitsUntil },
          sharedBy: token === undefined ? 1 : sharedBy(token),
        },
      ];
    }
    if (config.platform.requestsPerHour === null) return [];
    if (own.length === 0) return null;
    return own.map((one) => ({
      ...{ limit: one.limit, left: one.left, sharedBy: sharedBy(one) },
      kept: one.kind === 'token' ? webhookReserve(one.limit) : 0,
      resetsAt: clock.now() + one.resetsInMillis,
    }));
  }
}
