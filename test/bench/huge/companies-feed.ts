import { createServer, type IncomingMessage } from 'node:http';
import { Feed } from '../feed.js';
import { forkServer } from '../processes.js';
import { type ServedFeed, served } from '../serve-feed.js';

/*
 * The feeds of many companies behind one address. The token of a request names the company, as on the platform.
 */

export const companyOf = (no: number): string => `co_huge${no}`;

export const tokenOf = (no: number): string => `at_test_${String(no).padStart(40, '0')}`;

/** Returns how many records company `no` has: the first ones take what does not divide. */
export function recordsOf(no: number, records: number, companies: number): number {
  return Math.floor(records / companies) + (no < records % companies ? 1 : 0);
}

/** Starts the feeds, in a process of their own if `apart`. Port 0 is a free one. */
export async function startCompanies(
  records: number,
  companies: number,
  apart: boolean,
  port: number,
): Promise<ServedFeed> {
  if (!apart) return await serveCompanies(records, companies, port);
  return await forkServer('test/bench/huge/companies-server.ts', records, companies, port);
}

export async function serveCompanies(records: number, companies: number, port: number): Promise<ServedFeed> {
  const feeds: Feed[] = [];
  let first = 0;
  for (let no = 0; no < companies; no += 1) {
    const count = recordsOf(no, records, companies);
    feeds.push(new Feed(count, Date.now, companyOf(no), first));
    first += count;
  }
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://feed');
    const feed =
      feeds[request.method === 'POST' ? Number(url.searchParams.get('company')) : askedBy(request)];
    const body = feed === undefined ? null : answer(feed, request.method ?? 'GET', url);
    response.writeHead(body === null ? 404 : 200, { 'content-type': 'application/json' });
    response.end(body ?? '{"error":{"type":"not_found"}}');
  });
  return await served(server, port);
}

const askedBy = ({ headers }: IncomingMessage): number => Number(headers.authorization?.slice(-40));

/** Returns the body, or null for what this server does not have. */
function answer(feed: Feed, method: string, { pathname, searchParams }: URL): string | null {
  if (method === 'POST') return String(feed.change(Number(searchParams.get('no')), searchParams.has('gone')));
  if (pathname === '/investments') return feed.page(searchParams);
  const record = /^\/investments\/(inv_\w+)$/.exec(pathname)?.[1];
  if (record !== undefined) return feed.current(record);
  const offering = /^\/offerings\/(ofr_\w+)\/stats$/.exec(pathname)?.[1];
  return offering === undefined ? null : feed.stats(offering);
}
