import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { arrivalsWithin } from '../arrivals.js';
import { Deliverer, signedRequest } from '../deliveries.js';
import { Feed, idOf, perPage } from '../feed.js';
import { sharedNow } from '../shared-time.js';

export interface PlatformOptions {
  /** The number of records of each source. */
  readonly records: readonly number[];
}

/** A change that the platform made and announced. */
export interface Change {
  readonly source: number;
  /** Its position among the changes of the source, counted from 1. */
  readonly place: number;
  /** On the clock of `sharedNow`. */
  readonly madeAt: number;
  /** When its delivery was answered. */
  readonly answeredAt: number;
  readonly status: number;
}

export interface Traffic {
  readonly seed: number;
  readonly perSecond: number;
  /** Null goes on until `stop`. */
  readonly seconds: number | null;
  /** Indices of the sources that change. */
  readonly sources: readonly number[];
}

/** The company of the source with that index. */
export const companyOf = (source: number): string => `co_bench${source}`;

/**
 * The record that the change at `place` changes. Successive changes touch records far apart, as on the platform.
 */
export const recordOf = (place: number, records: number): number => (place * 7) % records;

export type Platform = Awaited<ReturnType<typeof startPlatform>>;

/** Serves a feed for each source, and announces each change over connections that it keeps alive. */
export async function startPlatform({ records }: PlatformOptions) {
  const feeds = new Map(
    records.map((count, source) => [companyOf(source), new Feed(count, Date.now, companyOf(source))]),
  );
  const feedOf = (source: number) => {
    const feed = feeds.get(companyOf(source));
    if (feed === undefined) throw new Error(`there is no source ${source}`);
    return feed;
  };
  let requests = 0;
  let events = 0;
  const held = new Map<string, Promise<void>>();
  const releases = new Map<string, () => void>();
  const listing = new Map<string, (() => void)[]>();
  const server = createServer(async (request, response) => {
    requests += 1;
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://feed');
    const company = searchParams.get('company_id') ?? '';
    const feed = feeds.get(company);
    if (pathname !== '/investments' || feed === undefined) {
      // Counts of an offering are for people who edit the company.
      response
        .writeHead(403, { 'content-type': 'application/json' })
        .end('{"error":{"type":"insufficient_scope"}}');
      return;
    }
    const hold = held.get(company);
    if (hold !== undefined) await hold;
    const body = feed.page(searchParams);
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
    // Neither a delta, nor a sweep, nor the check of the grant, which reads a few records of a listing.
    const isListing =
      searchParams.get('per_page') === String(perPage) &&
      !searchParams.has('updated_since') &&
      !searchParams.get('cursor')?.startsWith('c');
    if (!isListing || !body.slice(-300).includes('"has_more":false')) return;
    for (const resolve of listing.get(company) ?? []) resolve();
    listing.delete(company);
  });
  // Long enough that no connection of a quiet minute is cut just as it is used again.
  server.keepAliveTimeout = 75_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let deliverer: Deliverer | null = null;
  let stopped = false;
  const waking = new Set<AbortController>();

  const change = async (source: number): Promise<Change> => {
    const feed = feedOf(source);
    const no = recordOf(feed.changes + 1, feed.records);
    const madeAt = sharedNow();
    const place = feed.change(no);
    events += 1;
    if (deliverer === null) throw new Error('nobody is told of changes yet');
    const status = await deliverer.send(
      signedRequest(deliverer.url, `evt_bench${events}`, companyOf(source), idOf(no)),
    );
    return { source, place, madeAt, answeredAt: sharedNow(), status };
  };

  return {
    url: async () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Announces changes to this receiver from now on. */
    deliverTo: async (url: string): Promise<void> => {
      deliverer?.close();
      deliverer = new Deliverer(new URL(url));
    },
    /** Changes a record and resolves when the receiver has answered its delivery. */
    change,
    /** Changes or withdraws a record without announcing it. */
    alter: async (source: number, no: number, gone = false): Promise<number> =>
      feedOf(source).change(no, gone),
    /** Changes records at random times. Late answers delay nothing: the platform does not wait either. */
    traffic: async ({ seed, perSecond, seconds, sources }: Traffic): Promise<readonly Change[]> => {
      stopped = false;
      const began = sharedNow();
      const made: Promise<Change>[] = [];
      for (const { atMillis, source } of arrivalsWithin(seconds, seed, perSecond, sources.length)) {
        const awake = new AbortController();
        waking.add(awake);
        const wait = began + atMillis - sharedNow();
        if (wait > 0) await pause(wait, undefined, { signal: awake.signal }).catch(() => {});
        waking.delete(awake);
        if (stopped) break;
        const changed = change(sources[source] ?? 0);
        changed.catch(() => {});
        made.push(changed);
      }
      return await Promise.all(made);
    },
    /** Ends the running traffic. */
    stop: async (): Promise<void> => {
      stopped = true;
      for (const one of waking) one.abort();
    },
    /** Answers no request of this source until `release`. */
    hold: async (source: number): Promise<void> => {
      held.set(companyOf(source), new Promise((resolve) => releases.set(companyOf(source), resolve)));
    },
    release: async (source: number): Promise<void> => {
      releases.get(companyOf(source))?.();
      held.delete(companyOf(source));
    },
    /** Resolves when the last page of a listing of this source was served, with the time. */
    listed: async (source: number): Promise<number> => {
      await new Promise<void>((resolve) => {
        const company = companyOf(source);
        listing.set(company, [...(listing.get(company) ?? []), resolve]);
      });
      return sharedNow();
    },
    /** Requests answered since the start. */
    requests: async (): Promise<number> => requests,
    close: async (): Promise<void> => {
      deliverer?.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
