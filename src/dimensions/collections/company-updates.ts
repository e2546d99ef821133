import { type Fault, isFault } from '../../domain/fault.js';
import { isIdShaped } from '../../domain/ids.js';
import { tabPerPage } from '../../wire/limits.js';
import { broken, fieldsOf, Reader, requireAtMost } from '../fields.js';
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

/** A post that cannot be read. Its id is null when that cannot be read either. */
export interface UnreadablePost {
  readonly id: string | null;
  readonly fault: Fault;
}

export interface UpdatesPage {
  readonly rows: readonly Row[];
  readonly unreadable: readonly UnreadablePost[];
  readonly next: string | null;
}

/** The most pages that are read of one company: 5,000 posts. More would never end on a broken platform. */
const pagesMax = 100;

/** Twice what is asked for, as of a page of investments. */
const postsMax = 2 * tabPerPage.max;

interface PageAsked {
  readonly cursor: string | undefined;
  /** Counts from 1. */
  readonly number: number;
}

/** Parses a page of `GET /companies/{id}/updates`. Throws when the page itself breaks the contract. */
export function parseUpdates(body: unknown, companyId: string, asked: PageAsked): UpdatesPage {
  const { data, meta } = fieldsOf(body);
  if (!Array.isArray(data)) throw broken('company_update', 'data');
  requireAtMost(postsMax, data.length, 'company_update', 'posts');
  const { has_more: hasMore, next_cursor: next } = fieldsOf(meta);
  const more = typeof next === 'string' || typeof next === 'number' ? String(next) : '';
  // Without them the listing would look complete, and posts on later pages would be deleted.
  if (typeof hasMore !== 'boolean') throw broken('company_update', 'has_more');
  if (hasMore && (more === '' || more === asked.cursor)) throw broken('company_update', 'next_cursor');
  if (hasMore && asked.number === pagesMax) throw broken('company_update', 'has_more');
  const rows: Row[] = [];
  const unreadable: UnreadablePost[] = [];
  for (const item of data) {
    try {
      rows.push(parseUpdate(item, companyId));
    } catch (error) {
      if (!isFault(error, 'contract_broken')) throw error;
      unreadable.push({ id: idOf(item), fault: error });
    }
  }
  return { rows, unreadable, next: hasMore ? more : null };
}

/** Returns the stored posts of a company that stay: those that cannot be read now, or all when one has no id. */
export function keptPosts(
  stored: readonly Row[],
  companyId: string,
  unreadable: readonly UnreadablePost[],
): readonly Row[] {
  if (unreadable.length === 0) return [];
  const ids = new Set<unknown>(unreadable.map(({ id }) => id));
  return stored.filter((row) => row.company_id === companyId && (ids.has(null) || ids.has(row.id)));
}

function idOf(item: unknown): string | null {
  const { id } = fieldsOf(item);
  return isIdShaped(id) ? id : null;
}

function parseUpdate(item: unknown, companyId: string): Row {
  const id = idOf(item);
  if (id === null) throw broken('company_update', 'id');
  const { attributes } = fieldsOf(item);
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
