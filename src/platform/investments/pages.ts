import type { JsonObject } from '../../domain/json.js';
import { badParameter, Problem } from '../http/problem.js';
import type { Services } from '../services.js';
import { type Cursor, readCursor, writeCursor } from './cursor.js';
import type { Filters } from './filters.js';
import { contentShape, identityShape, unpacked } from './packed.js';
import { publishDue } from './publisher.js';
import { changesAfter, type FeedHead, feedHead, listAfter, type PageRow, placeBefore } from './queries.js';
import { renderRecord, renderTombstone } from './record.js';
import { retentionMillis, updatedSinceMarginMillis } from './retention.js';
import type { View } from './view.js';

export interface PageAsked {
  readonly cursor?: string | undefined;
  /** Milliseconds. Ignored when there is a cursor. */
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
 * Returns one page. Without a cursor a listing starts; with a listing cursor it continues; with a feed cursor or a time
 * the page comes from the feed. The last page of a listing returns the feed position at the start of the listing, so
 * changes made during the listing are delivered again rather than lost.
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
  // Every published record is at or before this time, and every later one will be at or after it.
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
    // The last page returns the end of the feed, so that changes outside this view are not scanned again.
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
      throw badParameter('cursor', 'The cursor is not valid for this account; send next_cursor unchanged.');
    }
    const isOfNow = cursor.seq >= feed.start && cursor.seq <= feed.head;
    if (cursor.through < now - retentionMillis || !isOfNow) throw gone('cursor');
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
  renderRecord(unpacked(contentShape, row.content), unpacked(identityShape, row.identity), view.identity, {
    observedAt: row.observed_at,
    cursor,
    reason,
  });
