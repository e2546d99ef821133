import type { JsonObject } from '../../domain/json.js';
import { badParameter, Problem } from '../http/problem.js';
import type { Services } from '../services.js';
import { type Cursor, readCursor, writeCursor } from './cursor.js';
import type { Filters } from './filters.js';
import { publishDue } from './publisher.js';
import { changesAfter, type FeedHead, feedHead, listAfter, type PageRow, placeBefore } from './queries.js';
import { renderRecord, renderTombstone } from './record.js';
import { retentionMillis, updatedSinceMarginMillis } from './retention.js';
import type { View } from './view.js';

export interface PageAsked {
  readonly cursor?: string | undefined;
  /** Milliseconds; looked at only without a cursor. */
  readonly updatedSince?: number | undefined;
  readonly perPage: number;
}

export interface InvestmentPage {
  readonly data: readonly JsonObject[];
  readonly mode: 'bootstrap' | 'delta';
  readonly hasMore: boolean;
  readonly nextCursor: string;
  readonly publishedThrough: number;
}

/**
 * One page of the feed. Four ways to begin: nothing (a listing starts), a place in a listing (it continues), a place
 * in the feed, or a time (the feed from just before it). The last page of a listing hands out the place where the
 * feed stood when the listing began, so what changed meanwhile is told again rather than lost.
 */
export function readPage(
  services: Services,
  view: View,
  filters: Filters,
  asked: PageAsked,
  now: number,
): InvestmentPage {
  publishDue(services, now);
  const feed = feedHead(services.state);
  // Nothing later than this has been published, and nothing published from now on will say it is older.
  const through = Math.max(now, feed.observed_at);
  const start = startOf(services, view, asked, feed, now, through);
  if (filters.status !== null && start.kind === 'feed') {
    throw badParameter(
      'status',
      'status narrows a listing; it cannot be combined with a sync cursor or updated_since.',
    );
  }
  const reading = { services, view, filters, asked, feed, through };
  return start.kind === 'listing' ? listing(reading, start) : delta(reading, start);
}

interface Reading {
  readonly services: Services;
  readonly view: View;
  readonly filters: Filters;
  readonly asked: PageAsked;
  readonly feed: FeedHead;
  readonly through: number;
}

function listing(reading: Reading, start: Cursor & { kind: 'listing' }): InvestmentPage {
  const { services, view, filters, asked, feed, through } = reading;
  const rows = listAfter(services.state, view, filters, start.after, asked.perPage + 1);
  const page = rows.slice(0, asked.perPage);
  const last = page.at(-1);
  const hasMore = rows.length > page.length;
  const next: Cursor =
    hasMore && last !== undefined
      ? { ...start, after: last.investment_no }
      : { kind: 'feed', seq: start.seq, through: start.through };
  return {
    data: page.map((row) => record(row, view, null, null)),
    mode: 'bootstrap',
    hasMore,
    nextCursor: writeCursor(feed.cursor_key, view.subject, next),
    publishedThrough: through,
  };
}

function delta(reading: Reading, start: Cursor & { kind: 'feed' }): InvestmentPage {
  const { services, view, filters, asked, feed, through } = reading;
  const rows = changesAfter(services.state, view, filters, start.seq, asked.perPage + 1);
  const page = rows.slice(0, asked.perPage);
  const last = page.at(-1);
  const hasMore = rows.length > page.length && last !== undefined;
  const seal = (seq: number, at: number) =>
    writeCursor(feed.cursor_key, view.subject, { kind: 'feed', seq, through: at });
  return {
    data: page.map((row) => {
      const cursor = seal(row.seq, row.observed_at);
      return row.shown === 1
        ? record(row, view, cursor, row.reason)
        : renderTombstone(row.id, { observedAt: row.observed_at, cursor, reason: row.reason });
    }),
    mode: 'delta',
    hasMore,
    // On the last page the place is the end of the feed: changes others see are not looked through again.
    nextCursor: hasMore ? seal(last.seq, last.observed_at) : seal(feed.head, through),
    publishedThrough: hasMore ? last.observed_at : through,
  };
}

function startOf(
  services: Services,
  view: View,
  asked: PageAsked,
  feed: FeedHead,
  now: number,
  through: number,
): Cursor {
  if (asked.cursor !== undefined) {
    const cursor = readCursor(feed.cursor_key, view.subject, asked.cursor);
    if (cursor === undefined) {
      throw badParameter(
        'cursor',
        'This cursor is not one this account was given; pass next_cursor back unchanged.',
      );
    }
    // A place beyond the end was given out by a world that has since been set back.
    if (cursor.through < now - retentionMillis || cursor.seq > feed.head) throw gone('cursor');
    return cursor;
  }
  if (asked.updatedSince !== undefined) {
    if (asked.updatedSince < now - retentionMillis) throw gone('updated_since');
    const from = asked.updatedSince - updatedSinceMarginMillis;
    return { kind: 'feed', seq: placeBefore(services.state, from, feed.head), through: from };
  }
  return { kind: 'listing', after: 0, seq: feed.head, through };
}

const gone = (parameter: string): Problem =>
  new Problem(410, 'gone', `The ${parameter} is older than what the feed keeps.`, {
    details: { parameter },
    remediation: 'List again without cursor and updated_since, and replace the dataset with what comes.',
  });

const record = (row: PageRow, view: View, cursor: string | null, reason: string | null): JsonObject =>
  renderRecord(JSON.parse(row.content) as JsonObject, JSON.parse(row.identity) as JsonObject, view.identity, {
    observedAt: row.observed_at,
    cursor,
    reason,
  });
