/*
 * A feed of generated records that costs as little as possible, so that the reader is measured: text pages from a
 * template, and a log of the records that changed since.
 */

export const observedAt = '2026-10-20T09:30:04.000Z';
const statuses = ['active', 'executed', 'reserved', 'active', 'active'];

/** The page size of the feed, as on a platform that pages in hundreds. */
export const perPage = 100;

/** The id looks random, like real ones: a sequential one would flatter every index. */
export function idOf(no: number): string {
  const mixed = Math.imul(no + 1, 0x9e3779b1) >>> 0;
  return `inv_${mixed.toString(36).padStart(7, '0')}${no.toString(36).padStart(5, '0')}bench0000`;
}

/** Returns the number of the record with this id. */
export const numberOf = (id: string): number => Number.parseInt(id.slice(11, 16), 36);

const statusOf = (no: number): string => statuses[no % 5] ?? 'active';

const offeringOf = (no: number, company: string): string => `ofr_${company.slice(3)}${no % 7}`;

interface Tally {
  count: number;
  committed_cents: number;
  raised_cents: number;
}

/** The amount a record commits after the change at that position of the log: different for every change. */
export const committedAfter = (no: number, version: number): number => 100_000 + version + (no % 977) * 100;

export class Feed {
  readonly #log: { readonly no: number; readonly gone: boolean }[] = [];
  /** The last change of each record, as its position in the log. */
  readonly #latest = new Map<number, number>();
  #requests = 0;

  constructor(
    readonly records: number,
    readonly now: () => number = Date.now,
    readonly company = 'co_bench',
    /** The number of its first record, so that feeds of several companies share no id. */
    readonly first = 0,
  ) {}

  /** Requests answered since it started. */
  get requests(): number {
    return this.#requests;
  }

  /** Changes made since it started. */
  get changes(): number {
    return this.#log.length;
  }

  /** Marks a record as changed or gone. Returns the position of the change in the log, counted from 1. */
  change(no: number, gone = false): number {
    const place = this.#log.push({ no: no % this.records, gone });
    this.#latest.set(no % this.records, place);
    return place;
  }

  /** Returns the page for a request. */
  page(search: URLSearchParams): string {
    this.#requests += 1;
    const cursor = search.get('cursor') ?? '';
    if (cursor.startsWith('c')) return this.#delta(Number(cursor.slice(1)));
    if (search.has('updated_since')) return this.#delta(0);
    return this.#listing(cursor === '' ? 0 : Number(cursor.slice(1)));
  }

  /** Returns a record as it is now with `meta`, or null for one that is unknown or gone. */
  current(id: string): string | null {
    const no = numberOf(id) - this.first;
    const place = this.#latest.get(no) ?? 0;
    if (!(no >= 0 && no < this.records) || this.#log[place - 1]?.gone === true) return null;
    const text = recordText(this.first + no, this.company, committedAfter(no, place), '');
    return `{"data":${text},"meta":{"source":"current","published_matches":true,"published_observed_at":"${observedAt}"}}`;
  }

  /** Returns count and sums of an offering by status, or null for one without records. */
  stats(offering: string): string | null {
    const byStatus: Record<string, Tally> = {};
    const total: Tally = { count: 0, committed_cents: 0, raised_cents: 0 };
    for (let no = 0; no < this.records; no += 1) {
      const place = this.#latest.get(no) ?? 0;
      const number = this.first + no;
      if (offeringOf(number, this.company) !== offering || this.#log[place - 1]?.gone === true) continue;
      const cents = committedAfter(no, place);
      const status = statusOf(number);
      byStatus[status] ??= { count: 0, committed_cents: 0, raised_cents: 0 };
      for (const tally of [byStatus[status], total]) {
        tally.count += 1;
        tally.committed_cents += cents;
        tally.raised_cents += cents;
      }
    }
    if (total.count === 0) return null;
    const through = new Date(this.now()).toISOString();
    const data = { offering, company: this.company, currency: 'usd', by_status: byStatus, total };
    return JSON.stringify({ data, meta: { published_through: through } });
  }

  #listing(from: number): string {
    const end = Math.min(this.records, from + perPage);
    const rows: string[] = [];
    for (let no = from; no < end; no += 1) {
      const place = this.#latest.get(no) ?? 0;
      if (this.#log[place - 1]?.gone === true) continue;
      rows.push(
        recordText(this.first + no, this.company, committedAfter(no, place), ',"cursor":null,"reason":null'),
      );
    }
    const more = end < this.records;
    return this.#text(rows, 'bootstrap', more, more ? `p${end}` : `c${this.#log.length}`);
  }

  #delta(from: number): string {
    const end = Math.min(this.#log.length, from + perPage);
    const rows = this.#log.slice(from, end).map(({ no, gone }, at) => {
      const place = from + at + 1;
      const extra = `,"cursor":"c${place}","reason":"${gone ? 'withdrawn' : 'changed'}"`;
      if (gone) return tombstoneText(this.first + no, extra);
      return recordText(this.first + no, this.company, committedAfter(no, place), extra);
    });
    return this.#text(rows, 'delta', end < this.#log.length, `c${end}`);
  }

  #text(rows: readonly string[], mode: string, more: boolean, next: string): string {
    const through = new Date(this.now()).toISOString();
    return `{"data":[${rows.join(',')}],"meta":{"mode":"${mode}","has_more":${more},"page_count":${rows.length},"next_cursor":"${next}","published_through":"${through}"}}`;
  }
}

const tombstoneText = (no: number, extra: string) =>
  `{"id":"${idOf(no)}","visible":false,"status":null,"observed_at":"${observedAt}"${extra}}`;

function recordText(no: number, company: string, cents: number, extra: string): string {
  const day = String(1 + (no % 28)).padStart(2, '0');
  // Few records share one time, as on the platform, so a query that groups by time first gains nothing.
  const time = new Date((no * 7_919) % 86_400_000).toISOString().slice(11);
  return (
    `{"id":"${idOf(no)}","visible":true,"status":"${statusOf(no)}","converted_to":null,"converted_from":null,` +
    `"offering":"${offeringOf(no, company)}","company":"${company}","investment_type":"SAFE","offering_type":"Reg CF",` +
    `"group":"CONFIRMED","applied_at":"2026-0${1 + (no % 9)}-${day}T${time}","amounts":{"currency":"usd",` +
    `"committed_cents":${cents},"investment_size_cents":${cents},"in_escrow_cents":${no % 4 === 0 ? cents : 0},"raised_cents":${cents}},` +
    `"shares":null,"average_share_price":null,"needs_whitelisting":false,"external_username":null,` +
    `"message":"Glad to back the team, number ${no}, and looking forward to the next update of yours.",` +
    `"investor":{"id":"usr_bench${no % 50_000}","deactivated":false,"via_entity":false,"name":"Bench Person ${no}",` +
    `"legal_name":"Bench Legal Person ${no}","email":"bench${no}@people.example","address":{"line":"${no} Harbour Row",` +
    `"city":"Portland","state":"ME","postal_code":"0${4000 + (no % 999)}","country":"United States"},` +
    `"bio":"Invests in things that last; number ${no} of many who do."},"blockers":${no % 10 === 0 ? '[{"key":"needs_id"}]' : '[]'},` +
    `"contracts":[{"name":"Subscription Agreement","override_amount_cents":null,"early_bird":false}],` +
    `"observed_at":"${observedAt}"${extra}}`
  );
}
