import type { Chance } from './chance.js';
import type { Counters } from './counters.js';
import type { CatalogAnswer, FakeCatalog } from './fake-catalog.js';
import { poisons, wireOf } from './fake-records.js';
import type { Account } from './fake-tokens.js';
import type { Publication, Truth } from './truth.js';
import type { Weather } from './weather.js';

/** Choices a platform may make within its contract, drawn anew for each seed. */
export interface Freedom {
  readonly pageMax: number;
  readonly livePaging: boolean;
  /**
   * Where the final cursor of a listing points: to its start, or to its end, which leaves a gap unless the reader
   * sweeps.
   */
  readonly finalCursor: 'start' | 'end';
  readonly order: 'id' | 'feed';
  readonly repeats: number;
  readonly emptyPages: number;
  readonly tombstonesInListing: boolean;
  readonly freshCursorOnEmpty: boolean;
  /** The longest delay from the event to the publication in the feed. */
  readonly publishDelayMax: number;
  readonly requestsPerHour: number;
  /** Where the windows of the limit begin, which the specification leaves open: with a request, or with each hour. */
  readonly windows: 'request' | 'hour';
}

export interface PlatformRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Sent again by the network, not by the daemon. */
  readonly isCopy?: boolean;
}

export interface PlatformResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** How long the response forbids further requests with this token. */
  readonly quietMillis?: number;
}

/** One read of companies, rounds, posts or stats. */
export interface CatalogReading {
  readonly at: number;
  readonly account: string;
  readonly status: number;
}

interface Place {
  readonly kind: 'listing' | 'delta';
  readonly account: string;
  readonly filters: string;
  /** The position of a delta, or where a listing began. */
  readonly seq: number;
  /** The last id returned by a listing. */
  readonly last: string;
}

/** One read of a source as the platform saw it. The judge compares these with the mirror. */
export interface Reading {
  readonly at: number;
  readonly account: string;
  readonly company: string;
  readonly kind: 'start' | 'page' | 'since' | 'cursor';
  readonly status: number;
  /** How far the feed had been published. */
  readonly head: number;
}

const hourMillis = 3_600_000;

/**
 * The feed, implemented from its specification alone with its own paging, cursors and tokens. Its responses follow
 * from the truth, its freedom and the weather.
 */
export class FakePlatform {
  readonly accounts: Account[] = [];
  readonly readings: Reading[] = [];
  readonly catalogReadings: CatalogReading[] = [];
  /** Every position ever issued, so that the judge can tell how far a stored cursor reaches. */
  readonly places = new Map<string, Place>();
  /** For each record, the last publication that was only ever sent in an unreadable form. */
  readonly poisoned = new Map<string, number>();
  /** Q1: whether a request beyond the limit is the daemon's fault. */
  judgesLimit = true;
  /** Positions before this one have expired. */
  horizon = 0;
  #visibleHead = 0;
  #replica = 0;
  /** When rounds were read within the last minute: the platform counts them per address. */
  #roundReads: number[] = [];

  constructor(
    readonly truth: Truth,
    readonly catalog: FakeCatalog,
    readonly freedom: Freedom,
    readonly weather: Weather,
    readonly chance: Chance,
    readonly counters: Counters,
    readonly violate: (invariant: string, what: string) => void,
  ) {}

  /** Publishes the feed up to `seq`; never moves back. It lags the truth by the publishing delay. */
  reach(seq: number): void {
    this.#visibleHead = Math.max(this.#visibleHead, seq);
  }

  get head(): number {
    return this.#visibleHead;
  }

  handle(request: PlatformRequest): PlatformResponse {
    const now = this.truth.now();
    const path = request.url.pathname;
    if (path === '/.well-known/oauth-authorization-server') return this.#json(200, {});
    if (path === '/oauth/token') return this.#token(request, now);
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const account = this.accounts.find((one) => one.admits(bearer, now));
    if (path !== '/investments') return this.#readCatalog(request, account, now);
    const response = account === undefined ? this.unauthorized() : this.#guarded(request, account, now);
    this.#note(request.url, account, response.status, now);
    return response;
  }

  #readCatalog(request: PlatformRequest, account: Account | undefined, now: number): PlatformResponse {
    const response = account === undefined ? this.unauthorized() : this.#answerCatalog(request, account, now);
    this.catalogReadings.push({ at: now, account: account?.name ?? '', status: response.status });
    this.counters.add(`catalog:${response.status}`);
    return response;
  }

  #answerCatalog(request: PlatformRequest, account: Account, now: number): PlatformResponse {
    const limited = this.#limit(account, now, request.isCopy === true);
    // Only the quota of the token makes its other reads wait too.
    if (limited !== undefined)
      return account.spent > this.freedom.requestsPerHour ? limited : { ...limited, quietMillis: 0 };
    const failure = this.#failing();
    if (failure !== undefined) return failure;
    const { url, headers } = request;
    if (/^\/offerings\/[^/]+$/.test(url.pathname) && this.#isOneTooMany(request, now))
      return this.#problem(429, 'rate_limited', { limit: 60, period: 'minute', retry_after: 60 });
    const answer = this.catalog.answer({
      path: url.pathname,
      query: url.searchParams,
      etag: headers['if-none-match'],
      access: account,
      head: this.head,
    });
    if (answer === undefined) return this.#problem(404, 'not_found');
    return this.#responseOf(answer);
  }

  #responseOf(answer: CatalogAnswer): PlatformResponse {
    if (answer.status === 304) return this.#text(304, 'application/json', '');
    return answer.status === 200 ? this.#json(200, answer.body) : this.#problem(answer.status, answer.type);
  }

  /** Q3: within any minute, an address reads 60 rounds at most. */
  #isOneTooMany({ isCopy }: PlatformRequest, now: number): boolean {
    if (isCopy === true) return false;
    this.#roundReads = [...this.#roundReads.filter((at) => at > now - 60_000), now];
    if (this.#roundReads.length <= 60) return false;
    this.counters.add('platform:too many rounds read');
    if (this.judgesLimit) this.violate('Q3', `${this.#roundReads.length} rounds were read within a minute`);
    return true;
  }

  #note(url: URL, account: Account | undefined, status: number, at: number): void {
    const query = url.searchParams;
    const place = this.places.get(query.get('cursor') ?? '');
    const kind =
      place?.kind === 'listing'
        ? 'page'
        : place !== undefined
          ? 'cursor'
          : query.has('updated_since')
            ? 'since'
            : 'start';
    this.readings.push({
      at,
      kind,
      status,
      head: this.head,
      account: account?.name ?? '',
      company: query.get('company_id') ?? '',
    });
  }

  #guarded(request: PlatformRequest, account: Account, now: number): PlatformResponse {
    const limited = this.#limit(account, now, request.isCopy === true);
    if (limited !== undefined) return limited;
    return this.#failing() ?? this.#feed(request.url.searchParams, account);
  }

  unauthorized(): PlatformResponse {
    return this.#problem(401, 'invalid_token');
  }

  /** In bad weather, returns the response of a proxy in front of the platform instead. */
  edge({ url }: PlatformRequest): PlatformResponse | undefined {
    const failure = this.#limiting(this.truth.now()) ?? this.#failing();
    if (failure !== undefined) return failure;
    return url.searchParams.has('cursor') && this.weather.strikes('gone_delta') ? this.#gone() : undefined;
  }

  #failing(): PlatformResponse | undefined {
    const { weather } = this;
    if (weather.strikes('error_500_json')) return this.#problem(500, 'internal_error');
    if (weather.strikes('error_502_html')) return this.#text(502, 'text/html', '<html>Bad gateway</html>');
    if (weather.strikes('error_503_empty')) return this.#text(503, 'text/plain', '');
    if (weather.strikes('error_408')) return this.#problem(408, 'timeout');
    if (weather.strikes('unauthorized_once')) return this.unauthorized();
    if (weather.strikes('forbidden')) return this.#problem(403, 'insufficient_scope');
    if (weather.strikes('refused')) return this.#problem(400, 'bad_request');
    if (weather.strikes('html_200')) return this.#text(200, 'text/html', '<html>Please sign in</html>');
    return undefined;
  }

  #limit(account: Account, now: number, isCopy: boolean): PlatformResponse | undefined {
    const { weather, freedom } = this;
    if (now >= account.windowStart + hourMillis) {
      account.windowStart = freedom.windows === 'hour' ? now - (now % hourMillis) : now;
      account.spent = 0;
      account.spentByOthers = 0;
    }
    account.spent += 1;
    if (isCopy) account.spentByOthers += 1;
    // Another program that uses the same token.
    if (weather.strikes('limit_quota')) {
      account.spent += 400;
      account.spentByOthers += 400;
    }
    if (account.spent > freedom.requestsPerHour) {
      this.counters.add('platform:limit reached');
      if (
        this.judgesLimit &&
        !account.rotating &&
        account.spent - account.spentByOthers > freedom.requestsPerHour
      )
        this.violate('Q1', `${account.name} sent more than its ${freedom.requestsPerHour} requests an hour`);
      const left = Math.ceil((account.windowStart + hourMillis - now) / 1000);
      return this.#limited(
        { limit: freedom.requestsPerHour, period: 'hour', retry_after: left },
        left * 1000,
      );
    }
    return this.#limiting(now);
  }

  #limiting(now: number): PlatformResponse | undefined {
    const { weather } = this;
    if (weather.strikes('limit_details')) {
      const seconds = weather.chanceOf('limit_details').skewed(1, 900);
      return this.#limited({ limit: 5000, period: 'hour', retry_after: seconds }, seconds * 1000);
    }
    if (weather.strikes('limit_header')) {
      const seconds = weather.chanceOf('limit_header').skewed(2, 300);
      const reset = Math.floor(now / 1000) + seconds;
      return {
        ...this.#text(429, 'text/plain', 'slow down'),
        headers: { date: new Date(now).toUTCString(), 'x-ratelimit-reset': String(reset) },
        quietMillis: Math.max(0, reset * 1000 - now - 1000),
      };
    }
    if (weather.strikes('limit_bare')) return this.#text(429, 'text/html', '<html>429</html>');
    if (weather.strikes('limit_nonsense')) {
      const nonsense = weather.chanceOf('limit_nonsense').pick([-5, 1e12, 'soon', null, { a: 1 }]);
      return this.#problem(429, 'rate_limited', { retry_after: nonsense });
    }
    return undefined;
  }

  #limited(details: object, quietMillis: number): PlatformResponse {
    return { ...this.#problem(429, 'rate_limited', details), quietMillis };
  }

  #token(request: PlatformRequest, now: number): PlatformResponse {
    const form = new URLSearchParams(request.body);
    const account = this.accounts.find((one) => one.name === form.get('client_id')?.replace(/^pk_/, ''));
    const pair = account?.refresh(form.get('refresh_token') ?? '', now);
    if (account === undefined || pair === undefined) {
      this.counters.add('platform:invalid_grant');
      return this.#json(400, { error: 'invalid_grant', error_description: 'no' });
    }
    this.counters.add('platform:refresh');
    return this.#json(200, {
      access_token: pair.access,
      refresh_token: pair.refresh,
      token_type: 'Bearer',
      expires_in: account.accessMillis / 1000,
      scope: 'read:investments',
    });
  }

  #feed(query: URLSearchParams, account: Account): PlatformResponse {
    const company = query.get('company_id') ?? '';
    const filters = `${company}&${query.get('offering_id') ?? ''}`;
    const requestedCursor = query.get('cursor');
    if (company === '') {
      this.violate('B12', 'a page was requested without the filter of its source');
      return this.#problem(400, 'bad_request');
    }
    const perPage = Math.min(Number(query.get('per_page') ?? 25), this.freedom.pageMax);
    const { weather } = this;
    if (requestedCursor === null) {
      const since = query.get('updated_since');
      if (since === null)
        return this.#listing(account, company, filters, this.head, '', perPage, requestedCursor);
      const from = this.#seqAt(company, Date.parse(since));
      // With a final cursor at the end, no later response would contain what was published during the listing, so
      // `gone` must not strike.
      const gone = weather.strikes('gone_delta') && this.freedom.finalCursor === 'start';
      if (from < this.horizon || gone) return this.#gone();
      return this.#delta(account, company, filters, from, perPage, requestedCursor);
    }
    const place = this.places.get(requestedCursor);
    if (place === undefined) {
      this.violate('cursor', 'a cursor was altered or never issued');
      return this.#problem(400, 'bad_request');
    }
    if (place.filters !== filters || place.account !== account.name)
      this.violate('B12', 'a cursor was used with other filters or another token than it was issued for');
    const gone = place.kind === 'listing' ? 'gone_listing' : 'gone_delta';
    if (place.seq < this.horizon || weather.strikes(gone)) {
      if (place.kind === 'listing') this.counters.add('platform:410 in a listing');
      return this.#gone();
    }
    return place.kind === 'listing'
      ? this.#listing(account, company, filters, place.seq, place.last, perPage, requestedCursor)
      : this.#delta(account, company, filters, place.seq, perPage, requestedCursor);
  }

  #gone(): PlatformResponse {
    this.counters.add('platform:410');
    return this.#problem(410, 'cursor_expired');
  }

  #listing(
    account: Account,
    company: string,
    filters: string,
    start: number,
    last: string,
    perPage: number,
    requestedCursor: string | null,
  ): PlatformResponse {
    const { freedom, weather } = this;
    // A replica that lags an hour: a listing from it moves readers back.
    if (last === '' && weather.strikes('replica_back')) {
      const back = Math.max(this.horizon, start - weather.chanceOf('replica_back').between(1, 10));
      return this.#listing(account, company, filters, back, ' ', perPage, requestedCursor);
    }
    const shownHead = freedom.livePaging && !weather.forecasts('replica_back') ? this.head : start;
    const rest = this.#inOrder(company, shownHead).filter((one) => this.#keyOf(one) > last.trim());
    const shown = this.#someOf(rest, perPage);
    const hasMore = rest.length > shown.length;
    const end = freedom.finalCursor === 'end' ? shownHead : start;
    const next = hasMore
      ? this.#hand({
          kind: 'listing',
          account: account.name,
          filters,
          seq: start,
          last: shown.at(-1) === undefined ? last || ' ' : this.#keyOf(shown.at(-1) as Publication),
        })
      : this.#hand({ kind: 'delta', account: account.name, filters, seq: end, last: '' });
    const gone =
      freedom.tombstonesInListing && !hasMore
        ? this.truth
            .of(company)
            .filter(
              (one) =>
                one.version === null &&
                !one.silent &&
                one.seq > start &&
                one.seq <= shownHead &&
                this.truth.latest(one.id, shownHead) === one,
            )
        : [];
    return this.#page('bootstrap', account, [...shown, ...gone], hasMore, next, shownHead, requestedCursor);
  }

  #delta(
    account: Account,
    company: string,
    filters: string,
    from: number,
    perPage: number,
    requestedCursor: string | null,
  ): PlatformResponse {
    const { weather } = this;
    // A replica as of the previous request: its response is stale but consistent.
    const head = weather.strikes('replica_behind') ? Math.max(from, this.#replica) : this.head;
    this.#replica = this.head;
    const latest = new Map<string, Publication>();
    for (const one of this.truth.of(company)) {
      if (one.seq <= from || one.seq > head) continue;
      latest.delete(one.id);
      // A record the token may no longer see is omitted, including its earlier publications.
      if (one.silent) continue;
      latest.set(one.id, one);
    }
    const rest = [...latest.values()];
    const shown = this.#someOf(rest, perPage);
    const hasMore = rest.length > shown.length;
    const reached = hasMore ? (shown.at(-1)?.seq ?? from) : head;
    const unchanged = rest.length === 0 && requestedCursor !== null && !this.freedom.freshCursorOnEmpty;
    const next = unchanged
      ? requestedCursor
      : this.#hand({ kind: 'delta', account: account.name, filters, seq: reached, last: '' });
    return this.#page('delta', account, shown, hasMore, next, head, requestedCursor);
  }

  /** Returns whether the first page of a listing shows what the token may read. */
  tellsGrant(company: string): boolean {
    const shown = this.#inOrder(company, this.head).slice(0, Math.min(10, this.freedom.pageMax));
    return this.freedom.emptyPages === 0 && shown.some(({ version }) => version?.deactivated === false);
  }

  #inOrder(company: string, head: number): readonly Publication[] {
    const all = [...this.truth.visible(company, head).values()];
    return all.sort((a, b) => (this.#keyOf(a) < this.#keyOf(b) ? -1 : 1));
  }

  #keyOf({ id, seq }: Publication): string {
    return this.freedom.order === 'id' ? id : String(seq).padStart(9, '0');
  }

  #someOf(rest: readonly Publication[], perPage: number): readonly Publication[] {
    return this.chance.yes(this.freedom.emptyPages) ? [] : rest.slice(0, perPage);
  }

  #page(
    mode: 'bootstrap' | 'delta',
    account: Account,
    shown: readonly Publication[],
    hasMore: boolean,
    next: string,
    head: number,
    requestedCursor: string | null,
  ): PlatformResponse {
    const { weather } = this;
    const data: unknown[] = shown.map((one) => this.#record(one, account));
    const first = data[0];
    if (first !== undefined && this.chance.yes(this.freedom.repeats)) data.push(first);
    const last = this.truth.publications[head - 1];
    const meta = {
      mode: weather.strikes('wrong_mode') ? (mode === 'delta' ? 'bootstrap' : 'delta') : mode,
      has_more: hasMore,
      next_cursor: next,
      page_count: data.length,
      published_through: last === undefined ? null : new Date(last.at).toISOString(),
    };
    if (requestedCursor !== null && weather.strikes('stuck_cursor'))
      return this.#json(200, { data, meta: { ...meta, has_more: true, next_cursor: requestedCursor } });
    if (weather.strikes('missing_meta')) return this.#json(200, { data });
    return this.#json(200, { data, meta });
  }

  #record(one: Publication, account: Account): unknown {
    const record = wireOf(one, this.catalog.roundOf(one), account.identity, `c_${one.seq}`);
    if (one.version === null || !this.weather.strikes('poison')) return record;
    this.poisoned.set(one.id, Math.max(one.seq, this.poisoned.get(one.id) ?? 0));
    return this.weather.chanceOf('poison').pick(poisons)(record as Record<string, unknown>);
  }

  /** Encodes cursors anew each time, so that comparing two of them reveals nothing. */
  #hand(place: Place): string {
    const cursor = `${place.kind === 'listing' ? 'p' : 'c'}.${this.chance.text(12)}`;
    this.places.set(cursor, place);
    return cursor;
  }

  #seqAt(company: string, time: number): number {
    const first = this.truth.publications.find((one) => one.at >= time - 60_000 && one.company === company);
    const seq = first === undefined ? this.head : first.seq - 1;
    const horizonAt = this.truth.publications[this.horizon - 1]?.at ?? Number.NEGATIVE_INFINITY;
    return Math.min(this.head, time >= horizonAt ? Math.max(seq, this.horizon) : seq);
  }

  #json(status: number, body: unknown): PlatformResponse {
    return this.#text(status, 'application/json', JSON.stringify(body));
  }

  #problem(status: number, type: string, details: object = {}): PlatformResponse {
    return this.#json(status, { error: { type, message: type, details, request_id: 'req_1' } });
  }

  #text(status: number, contentType: string, body: string): PlatformResponse {
    const headers = { 'content-type': contentType, date: new Date(this.truth.now()).toUTCString() };
    return { status, headers, body };
  }
}
