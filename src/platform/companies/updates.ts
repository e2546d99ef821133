import type { z } from 'zod';
import { tabPerPage } from '../../wire/limits.js';
import type { CompanyRow } from '../catalog/rounds.js';
import { siteUrl } from '../catalog/site.js';
import type { Viewer } from '../catalog/viewer.js';
import type { companyUpdate, listUpdates } from '../contract/company-tabs.js';
import { type Exchange, ok, type Reply } from '../http/exchange.js';
import { pageOf, pageSizeOf } from '../http/paging.js';
import { notFound } from '../http/problem.js';
import type { Services } from '../services.js';
import { all } from '../state/statements.js';
import { visitPage } from './find.js';

type Attributes = z.output<typeof companyUpdate>['attributes'];

interface Post {
  readonly id: string;
  readonly kind: Attributes['kind'];
  readonly title: string | null;
  readonly content: string;
  readonly published_at: number;
  readonly pinned: number;
  readonly visibility: Attributes['visibility'];
  readonly author_name: string | null;
  readonly comments_count: number;
  readonly likes_count: number;
}

export function answerUpdates(exchange: Exchange<typeof listUpdates>): Reply {
  const { services } = exchange;
  const query = exchange.input.query;
  const { company, viewer } = visitPage(exchange);
  const page = pageOf(
    services.state,
    postsFor(exchange, company, viewer),
    (post) => [-post.pinned, -post.published_at, post.id],
    {
      cursor: query.cursor,
      size: pageSizeOf(query.per_page, tabPerPage),
      list: `updates:${company.company_id}`,
    },
  );
  return ok({
    data: page.items.map((post) => postResource(services, company, post)),
    meta: { company: company.company_id, ...page.meta },
  });
}

export function answerUpdate(exchange: Exchange): Reply {
  const { company, viewer } = visitPage(exchange);
  const post = postsFor(exchange, company, viewer).find(({ id }) => id === exchange.params.update_id);
  if (post === undefined) throw notFound('The update');
  const resource = postResource(exchange.services, company, post);
  return ok({ data: { ...resource, attributes: { ...resource.attributes, content: post.content } } });
}

/** Returns the published posts of the kinds the tab shows that the viewer may read. */
function postsFor(exchange: Exchange, company: CompanyRow, viewer: Viewer): readonly Post[] {
  return all<Post>(
    exchange.services.state,
    `SELECT * FROM company_updates WHERE company_no = ? AND kind IN ('update', 'note', 'spotlight')
       AND published_at <= ?`,
    [company.company_no, exchange.now],
  ).filter((post) => mayRead(post, company.company_no, viewer));
}

function mayRead(post: Post, company: number, viewer: Viewer): boolean {
  const tier = viewer.teamOf.get(company);
  const invested = viewer.investedIn.companies.has(company);
  switch (post.visibility) {
    case null:
    case 'public':
      return true;
    case 'community':
      return tier !== undefined || invested || viewer.follows.has(company);
    case 'investors':
      return tier !== undefined || invested;
    case 'founders':
      return tier === 'founder';
    case 'private':
      return tier !== undefined;
  }
}

const excerptLength = 280;

function excerptOf(content: string): string {
  const text = content.replace(/\s+/g, ' ').trim();
  const letters = [...text];
  return letters.length <= excerptLength
    ? text
    : `${letters
        .slice(0, excerptLength - 1)
        .join('')
        .trimEnd()}…`;
}

const postResource = (services: Services, company: CompanyRow, post: Post) => ({
  id: post.id,
  type: 'company_update',
  attributes: {
    kind: post.kind,
    title: post.title,
    excerpt: excerptOf(post.content),
    published_at: new Date(post.published_at).toISOString(),
    pinned: post.pinned === 1,
    visibility: post.visibility,
    author: { name: post.author_name },
    comments_count: post.comments_count,
    likes_count: post.likes_count,
    url: siteUrl(services, company.slug, 'updates', post.id),
  },
});
