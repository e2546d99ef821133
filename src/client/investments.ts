import { Fault, isFault } from '../domain/fault.js';
import { type Instant, parseInstant } from '../domain/instant.js';
import type { FeedItem } from '../domain/investment.js';
import { nestsDeeper, readableLevelsMax } from '../domain/json.js';
import type { CentsSum } from '../domain/money.js';
import type { Cursor, PageToken, Position } from '../domain/position.js';
import { storableText } from '../domain/text.js';
import type { Interruption } from '../runtime/interruption.js';
import type { Feed, OnNext, PageEnvelope, Urgency } from '../sync/ports.js';
import { paths } from '../wire/paths.js';
import type { Api, Reply } from './api.js';
import { earlyCursor } from './early-cursor.js';
import { pageAnswer } from './fetch/body-limits.js';
import { refusesVersion } from './judge-response.js';
import { parseInvestment } from './parse-investment.js';
import { parsePage } from './parse-page.js';

/** What one source reads. `filters` are further query parameters: `offering_id`, `investor_id`. */
export interface FeedScope {
  readonly company: string | null;
  readonly filters: Readonly<Record<string, string>>;
  readonly perPage: number;
}

/** A cursor does not carry the filters, so every page repeats them. */
export function investmentFeed(api: Api, scope: FeedScope, urgency: Urgency): Feed {
  const askedAt = async (position: Position, request: Parameters<Api>[0]) => {
    try {
      return await api(request);
    } catch (error) {
      if (isForeignPosition(error, position)) throw foreignPosition(error);
      throw isFault(error, 'refused') && error.about.status === 404 ? unseenFilter(error, scope) : error;
    }
  };
  return {
    async page(position, signal, onNext) {
      const { body, text } = await askedAt(position, {
        path: paths.investments,
        query: {
          ...scope.filters,
          company_id: scope.company ?? undefined,
          per_page: String(scope.perPage),
          ...positionQuery(position),
        },
        urgency,
        signal,
        limits: pageAnswer(scope.perPage),
        ...(onNext === undefined ? {} : { onText: prefetchNext(position, onNext) }),
      });
      const page = parsePage(body, text, scope.perPage);
      refuseMismatch(position, page);
      return page;
    },
  };
}

/** Sends the request for the next page before this one is parsed. */
function prefetchNext(position: Position, onNext: OnNext): (text: string) => Promise<void> {
  return async (text) => {
    const next = earlyCursor(text);
    if (next === null) return;
    await onNext(
      isListing(position)
        ? { kind: 'page', token: next as PageToken }
        : { kind: 'cursor', cursor: next as Cursor },
    );
  };
}

/**
 * Whether the platform rejected the stored position. The rest of the request was the same when the position was
 * issued, so the position belongs to another account or realm than the token. Only the platform can tell which
 * account a token belongs to.
 */
function isForeignPosition(error: unknown, { kind }: Position): error is Fault {
  if (!isFault(error, 'refused') || error.about.status !== 400) return false;
  // The version is part of every request and may be retired between two of them.
  if (refusesVersion(error.about.status, error.about.type)) return false;
  const parameter = error.about.details?.parameter;
  return (kind === 'cursor' || kind === 'page') && (parameter === undefined || parameter === 'cursor');
}

function foreignPosition({ message, about }: Fault): Fault {
  return new Fault(
    'filters_changed',
    `the platform rejects the stored position for this token, which may belong to another account: ${message}`,
    {
      ...about,
      hint: 'use a token of the account the mirror was built with, or list again under this one: rosterd sync --source NAME --resync',
    },
  );
}

/** The platform answers 404 for a company, a round or an investor that does not exist or that the token may not see. */
function unseenFilter(error: Fault, { company, filters }: FeedScope): Fault {
  const ids = [company, ...Object.values(filters)].filter((id) => id !== null);
  if (ids.length === 0) return error;
  const which = ids.length === 1 ? ids.join() : `one of ${ids.join(', ')}`;
  return new Fault('refused', `${error.message}: ${which} does not exist, or the token may not see it`, {
    ...error.about,
    hint: 'correct company or filters of the source in the configuration, or use a token that may see it',
  });
}

const isListing = ({ kind }: Position) => kind === 'start' || kind === 'page';

function positionQuery(position: Position): { readonly cursor?: string; readonly updated_since?: string } {
  switch (position.kind) {
    case 'start':
      return {};
    case 'page':
      return { cursor: position.token };
    case 'since':
      return { updated_since: position.time };
    case 'cursor':
      return { cursor: position.cursor };
  }
}

/**
 * Throws `contract_broken` on a page of the wrong mode or with a repeated cursor. A listing page applied as a delta
 * would be read as all changes and no deletions; a repeated cursor would be read for ever.
 */
function refuseMismatch(position: Position, page: PageEnvelope): void {
  const expected = isListing(position) ? 'listing' : 'delta';
  if (page.mode !== expected) {
    throw new Fault('contract_broken', `the feed answered a ${page.mode} page to a ${expected} request`);
  }
  if (page.hasMore && page.next === positionQuery(position).cursor) {
    throw new Fault('contract_broken', 'the feed reports more pages but repeats the same cursor');
  }
}

/** The record as the platform derives it now, and whether the published version matches. */
export interface CurrentInvestment {
  readonly item: FeedItem;
  readonly publishedMatches: boolean | null;
  readonly publishedObservedAt: Instant | null;
}

/**
 * Returns null when the record is unknown to the platform or not visible to this token. Throws `contract_broken` for a
 * readable record of another id: compared or synchronized in its place, it would be taken for a difference.
 */
export async function readInvestment(
  api: Api,
  id: string,
  signal: Interruption,
): Promise<CurrentInvestment | null> {
  const reply = await orNull(api({ path: paths.investment, params: { id }, signal }));
  if (reply === null) return null;
  const body = asObject(reply.body);
  const meta = asObject(body.meta);
  const item = parseInvestment(body.data, () => storableText(reply.text));
  const found = item.kind === 'record' ? item.investment.id : item.id;
  if (found !== null && withoutPrefix(found) !== withoutPrefix(id)) throw otherThan('an investment');
  return {
    item,
    publishedMatches: typeof meta.published_matches === 'boolean' ? meta.published_matches : null,
    publishedObservedAt: parseInstant(meta.published_observed_at) ?? null,
  };
}

/** An investment has one id with two prefixes. */
const withoutPrefix = (id: string): string => id.replace(/^invt?_/, '');

const otherThan = (requested: string): Fault =>
  new Fault('contract_broken', `${requested} was requested, and the answer is about another one`);

/** The platform knows about a dozen statuses. Each one that differs is a line of a receipt. */
const statusesMax = 200;

export interface Tally {
  readonly count: number;
  readonly committed_cents: CentsSum;
  readonly raised_cents: CentsSum;
}

export interface OfferingStats {
  readonly byStatus: Readonly<Record<string, Tally>>;
  readonly total: Tally;
  readonly publishedThrough: Instant | null;
}

/**
 * Returns counts and sums of the published rows that the feed serves, or null when the offering is unknown or not
 * visible to this token.
 */
export async function readOfferingStats(
  api: Api,
  offering: string,
  signal: Interruption,
): Promise<OfferingStats | null> {
  const reply = await orNull(api({ path: paths.offeringStats, params: { offering_id: offering }, signal }));
  if (reply === null) return null;
  const body = asObject(mayBeRounded(reply.text) ? withExactIntegers(reply.text) : reply.body);
  const data = asObject(body.data);
  if (typeof data.offering === 'string' && data.offering !== offering)
    throw otherThan('the stats of an offering');
  // Read as no statuses, it would be a difference in each.
  if (!isObject(data.by_status)) throw brokenStats('by_status');
  const byStatus: Record<string, Tally> = Object.create(null);
  const tallies = Object.entries(data.by_status);
  if (tallies.length > statusesMax)
    throw new Fault('contract_broken', `the offering's stats name more than ${statusesMax} statuses`);
  for (const [status, tally] of tallies) {
    byStatus[status] = tallyOf(tally, `by_status.${status}`);
  }
  return {
    byStatus,
    total: tallyOf(data.total, 'total'),
    publishedThrough: parseInstant(asObject(body.meta).published_through) ?? null,
  };
}

/** JSON.parse rounds integers beyond 2^53, which has 16 digits. With a reviver it calls itself for each level. */
const mayBeRounded = (text: string): boolean => /\d{16}/.test(text) && !nestsDeeper(text, readableLevelsMax);

/** Parses JSON with integers beyond 2^53 as bigints. A longer one than any sum stays a number, which is not exact. */
function withExactIntegers(text: string): unknown {
  const reviver = (_key: string, value: unknown, { source }: { readonly source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d{1,40}$/.test(source ?? '')
      ? BigInt(source ?? '')
      : value;
  // The type of JSON.parse lacks the third argument, the text of the value.
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
}

function tallyOf(value: unknown, field: string): Tally {
  const { count, committed_cents, raised_cents } = asObject(value);
  if (!isWhole(count) || count < 0 || !isSum(committed_cents) || !isSum(raised_cents)) {
    throw brokenStats(field);
  }
  return { count, committed_cents, raised_cents };
}

const brokenStats = (field: string): Fault =>
  new Fault('contract_broken', `the offering's stats are not what the contract says: ${field}`);

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isSum(value: unknown): value is CentsSum {
  return isWhole(value) || typeof value === 'bigint';
}

async function orNull(reply: Promise<Reply>): Promise<Reply | null> {
  try {
    return await reply;
  } catch (error) {
    if (isFault(error, 'refused') && error.about.status === 404) return null;
    throw error;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const asObject = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});
