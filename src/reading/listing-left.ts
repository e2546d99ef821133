import { grouped } from '../domain/counted.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import { rateLimits } from '../wire/limits.js';

/* How far a listing is, and how long it still takes. */

/** A limit that the pages of a listing count against. */
export interface ListingQuota {
  readonly limit: number;
  /** Requests left in the present window. */
  readonly left: number;
  /** The part of a window that listings leave to webhooks and timed ticks. */
  readonly kept: number;
  /** How many listings share the rest now. */
  readonly sharedBy: number;
  /** The end of the present window, in milliseconds since the epoch. */
  readonly resetsAt: number;
}

export interface ListingFacts {
  readonly now: number;
  readonly rows: number;
  /** Null when it is not known. */
  readonly rowsExpected: number | null;
  readonly perPage: number;
  /** How long a page takes while requests are left; null before that is known. */
  readonly pageMillis: number | null;
  /** Empty without limits; null when what is left is not known, or when no process reads the listing. */
  readonly quotas: readonly ListingQuota[] | null;
}

/** The progress of a listing, as `status --json` shows it. */
export interface ListingLeft {
  readonly rows: number;
  /** About how many records the listing will read; null when the platform does not say. */
  readonly rows_expected: number | null;
  /** Requests that the listing may still send before the present hour's quota ends; null when that is not known. */
  readonly requests_left: number | null;
  /** Null when the time that is left cannot be estimated; otherwise at least 1. */
  readonly seconds_left: number | null;
  /** The part of `seconds_left` that is spent waiting for the hourly quota; null with it. */
  readonly seconds_waiting: number | null;
  /** The end of the present or first wait for the quota; null when none is expected. */
  readonly continues_at: Instant | null;
  /** All of this in words. */
  readonly text: string;
}

interface Estimate {
  readonly millis: number;
  readonly waiting: number;
  /** The end of the first wait. */
  readonly continuesAt: number | null;
}

const windowMillis = rateLimits.token.seconds * 1000;

/** Returns how far a listing is, and an estimate of the time that it still takes where that is possible. */
export function listingLeft({ quotas: stored, ...seen }: ListingFacts): ListingLeft {
  const { rows, rowsExpected, now } = seen;
  const quotas = stored?.map((quota) => present(quota, now)) ?? null;
  const estimate = estimateOf({ ...seen, quotas });
  const spent = quotas?.find((quota) => usable(quota) < 1) ?? null;
  const continuesAt = estimate?.continuesAt ?? spent?.resetsAt ?? null;
  const seconds = (millis: number) => Math.max(1, Math.ceil(millis / 1000));
  const left = {
    rows,
    rows_expected: rowsExpected,
    requests_left: quotas === null || quotas.length === 0 ? null : Math.min(...quotas.map(usable)),
    seconds_left: estimate === null ? null : seconds(estimate.millis),
    seconds_waiting: estimate === null ? null : estimate.waiting === 0 ? 0 : seconds(estimate.waiting),
    continues_at: continuesAt === null ? null : instantFromMillis(continuesAt),
  };
  return { ...left, text: textOf(left, spent !== null) };
}

/** Returns the progress of several listings at the same time, which end with the last of them. */
export function together(all: readonly ListingLeft[]): ListingLeft {
  const sum = (of: (one: ListingLeft) => number | null) =>
    all.reduce<number | null>((sofar, one) => plus(sofar, of(one)), 0);
  const known = all.every(({ seconds_left }) => seconds_left !== null);
  const last = all.toSorted((one, other) => (other.seconds_left ?? 0) - (one.seconds_left ?? 0))[0];
  const waits = all.flatMap(({ continues_at }) => (continues_at === null ? [] : [continues_at])).sort();
  const left = {
    rows: sum(({ rows }) => rows) ?? 0,
    rows_expected: sum(({ rows_expected }) => rows_expected),
    requests_left: sum(({ requests_left }) => requests_left),
    seconds_left: known ? (last?.seconds_left ?? null) : null,
    seconds_waiting: known ? (last?.seconds_waiting ?? null) : null,
    continues_at: (known ? last?.continues_at : waits[0]) ?? null,
  };
  return {
    ...left,
    text: textOf(
      left,
      all.every(({ requests_left }) => requests_left === 0),
    ),
  };
}

const plus = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one + other;

/**
 * Returns null when the total, the speed or the quota is not known, when more records came than were expected, and when
 * the quota leaves listings nothing.
 */
function estimateOf({ now, rows, rowsExpected, perPage, pageMillis, quotas }: ListingFacts): Estimate | null {
  if (rowsExpected === null || pageMillis === null || quotas === null || rows >= rowsExpected) return null;
  const pages = Math.ceil((rowsExpected - rows) / perPage);
  const free: Estimate = { millis: pages * pageMillis, waiting: 0, continuesAt: null };
  const estimates = quotas.map((quota) => underQuota(pages, pageMillis, quota, now));
  // One without a wait is as long as the free one, which comes first.
  return [free, ...estimates].reduce((longest, one) =>
    one === null || longest === null ? null : one.millis > longest.millis ? one : longest,
  );
}

/** Pages are read until the requests of a window are spent; the rest waits for the next windows, which are whole. */
function underQuota(pages: number, pageMillis: number, quota: ListingQuota, now: number): Estimate | null {
  const first = usable(quota);
  if (pages <= first) return { millis: pages * pageMillis, waiting: 0, continuesAt: null };
  const perWindow = usable({ ...quota, left: quota.limit });
  if (perWindow < 1) return null;
  const rest = pages - first;
  const firstWait = Math.max(0, quota.resetsAt - now - first * pageMillis);
  const fullWindows = Math.ceil(rest / perWindow) - 1;
  const waiting = firstWait + fullWindows * Math.max(0, windowMillis - perWindow * pageMillis);
  const continuesAt = firstWait > 0 ? quota.resetsAt : quota.resetsAt + windowMillis;
  return { millis: pages * pageMillis + waiting, waiting, continuesAt };
}

/** A window that has ended begins anew with the next request. */
const present = (quota: ListingQuota, now: number): ListingQuota =>
  quota.resetsAt > now ? quota : { ...quota, left: quota.limit, resetsAt: now + windowMillis };

/** Returns how many pages one of the listings may still request in the window. */
const usable = ({ left, kept, sharedBy }: ListingQuota): number =>
  Math.floor(Math.max(0, left - kept) / Math.max(1, sharedBy));

function textOf(left: Omit<ListingLeft, 'text'>, isWaiting: boolean): string {
  const { rows, rows_expected: expected, seconds_left, seconds_waiting, continues_at, requests_left } = left;
  const until = continues_at === null ? null : clockTime(continues_at);
  const waits = isWaiting && until !== null ? `continues at ${until} with the next hour's quota` : null;
  if (expected === null) {
    const requests =
      requests_left === null ? null : `${grouped(requests_left)} requests left in this hour's quota`;
    return joined(`${grouped(rows)} records so far`, 'how many more is not known', waits ?? requests);
  }
  if (rows > expected)
    return joined(
      `${grouped(rows)} records so far, more than the ${grouped(expected)} expected`,
      'time left not known',
      waits,
    );
  const sofar = `${grouped(rows)} of about ${grouped(expected)} records`;
  if (seconds_left === null || seconds_waiting === null) return joined(sofar, 'time left not known', waits);
  const some = `${sofar}, some ${roughly(seconds_left)} left`;
  if (seconds_waiting === 0) return some;
  const when = isWaiting ? `continues at ${until}` : `the first wait ends at ${until}`;
  return `${some}, of which ${roughly(seconds_waiting)} wait for the hour's quota (${when})`;
}

const joined = (...parts: readonly (string | null)[]): string =>
  parts.filter((part) => part !== null).join('; ');

const clockTime = (at: Instant): string => `${at.slice(11, 16)} UTC`;

/** Rounded up to minutes: an estimate is not exact to the second. */
function roughly(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds / 10) * 10} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 1440) return inTwo(minutes, 60, 'h', 'min');
  return inTwo(Math.ceil(minutes / 60), 24, 'd', 'h');
}

const inTwo = (count: number, size: number, large: string, small: string): string =>
  `${Math.floor(count / size)} ${large}${count % size === 0 ? '' : ` ${count % size} ${small}`}`;
