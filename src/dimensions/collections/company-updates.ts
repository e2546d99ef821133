import { broken, fieldsOf, Reader } from '../fields.js';
import type { Collection, Row } from '../ports.js';

export const companyUpdates: Collection = {
  name: 'company_updates',
  table: 'update_rows',
  key: ['id'],
  columns: ['id', 'company_id', 'kind', 'title', 'audience', 'published_at', 'pinned', 'url', 'extra'],
  versions: { about: 'update', history: null },
  touchedBy: ['installation.'],
};

const known: ReadonlySet<string> = new Set([
  ...['kind', 'title', 'published_at', 'pinned', 'visibility', 'url'],
  // Not stored: bodies, the name of a person, and numbers that change all the time.
  ...['excerpt', 'content', 'author', 'comments_count', 'likes_count'],
]);

export interface UpdatesPage {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

/** Parses a page of `GET /companies/{id}/updates`. */
export function parseUpdates(body: unknown, companyId: string): UpdatesPage {
  const { data, meta } = fieldsOf(body);
  if (!Array.isArray(data)) throw broken('company_update', 'data');
  const { has_more: hasMore, next_cursor: next } = fieldsOf(meta);
  const more = typeof next === 'string' || typeof next === 'number' ? String(next) : '';
  // Without it the listing would look complete, and posts on later pages would be deleted.
  if (hasMore === true && more === '') throw broken('company_update', 'next_cursor');
  return { rows: data.map((item) => parseUpdate(item, companyId)), next: hasMore === true ? more : null };
}

function parseUpdate(item: unknown, companyId: string): Row {
  const { id, attributes } = fieldsOf(item);
  if (typeof id !== 'string' || id === '') throw broken('company_update', 'id');
  const read = new Reader('company_update', fieldsOf(attributes));
  return {
    id,
    company_id: companyId,
    kind: read.text('kind'),
    title: read.text('title'),
    audience: read.text('visibility'),
    published_at: read.time('published_at'),
    pinned: read.flag('pinned'),
    url: read.text('url'),
    extra: read.extra(known),
  };
}
