import { Fault } from '../../../src/domain/fault.js';
import type { InvestmentId } from '../../../src/domain/ids.js';
import { instantFromMillis, millisOf } from '../../../src/domain/instant.js';
import type { FeedItem, Investment } from '../../../src/domain/investment.js';
import type { Cents } from '../../../src/domain/money.js';
import type { Position } from '../../../src/domain/position.js';
import type { Feed, FeedPage, ReceivedPage } from '../../../src/sync/ports.js';

interface Publication {
  readonly seq: number;
  readonly id: InvestmentId;
  /** The published amount; null withdraws the record. */
  readonly cents: number | null;
  readonly at: number;
}

/** What a platform may do within its contract. */
export interface Freedom {
  readonly perPage: number;
  /** Whether a listing serves each page from the current state, or all of them from the state at its start. */
  readonly livePaging: boolean;
  /**
   * Where a listing's final cursor points. With `end`, changes made during the listing are lost unless the client
   * sweeps.
   */
  readonly finalCursor: 'start' | 'end';
  readonly repeats: boolean;
  readonly emptyPages: boolean;
}

export const plain: Freedom = {
  perPage: 3,
  livePaging: true,
  finalCursor: 'start',
  repeats: false,
  emptyPages: false,
};

/**
 * A platform modelled as a ledger of publications in order. It serves the feed from the ledger alone and shares no
 * code with the engine, so their agreement is evidence.
 */
export class Truth implements Feed {
  readonly ledger: Publication[] = [];
  readonly asked: Position[] = [];
  freedom: Freedom;
  /** Positions before this one are expired. */
  horizon = 0;
  #noise = 0;

  constructor(
    readonly now: () => number,
    freedom: Freedom = plain,
  ) {
    this.freedom = freedom;
  }

  publish(number: number, cents: number | null): void {
    const seq = this.ledger.length + 1;
    this.ledger.push({ seq, id: idOf(number), cents, at: this.now() });
  }

  /** Every position issued so far returns 410 from now on, and so does every time before now. */
  expire(): void {
    this.horizon = this.ledger.length + 1;
    this.ledger.push({ seq: this.horizon, id: idOf(0), cents: null, at: this.now() });
  }

  current(upTo = this.ledger.length): Map<InvestmentId, number> {
    return new Map([...this.#held(upTo)].map(([id, { cents }]) => [id, cents ?? 0]));
  }

  #held(upTo: number): Map<InvestmentId, Publication> {
    const held = new Map<InvestmentId, Publication>();
    for (const one of this.ledger.slice(0, upTo))
      if (one.cents === null) held.delete(one.id);
      else held.set(one.id, one);
    return held;
  }

  async page(position: Position): Promise<FeedPage & ReceivedPage> {
    return received(this.#page(position));
  }

  #page(position: Position): FeedPage {
    this.asked.push(position);
    if (position.kind === 'since') return this.#delta(this.#seqAt(millisOf(position.time)));
    if (position.kind === 'start') return this.#listing(this.ledger.length, '');
    const [kind, seq, last = ''] = (position.kind === 'page' ? position.token : position.cursor).split(':');
    return kind === 'list' ? this.#listing(Number(seq), last) : this.#delta(Number(seq));
  }

  #listing(start: number, last: string): FeedPage {
    this.#mustBeKept(start);
    const held = this.#held(this.freedom.livePaging ? this.ledger.length : start);
    const rest = [...held].filter(([id]) => id > last).sort(([a], [b]) => (a < b ? -1 : 1));
    const shown = rest.slice(0, this.#takes());
    const hasMore = rest.length > shown.length;
    const items = shown.map(([, one]) => itemOf(one));
    const again = items[0];
    const end = this.freedom.finalCursor === 'end' ? this.ledger.length : start;
    return {
      mode: 'listing',
      ...sized(this.freedom.repeats && again !== undefined ? [...items, again] : items),
      hasMore,
      next: hasMore ? `list:${start}:${shown.at(-1)?.[0] ?? last}:${this.#fresh()}` : `sync:${end}`,
      publishedThrough: this.#head(),
    };
  }

  #delta(after: number): FeedPage {
    this.#mustBeKept(after);
    const latest = new Map<InvestmentId, Publication>();
    for (const one of this.ledger.slice(after)) {
      latest.delete(one.id);
      latest.set(one.id, one);
    }
    const rest = [...latest.values()];
    const shown = rest.slice(0, this.#takes());
    const items = shown.map((one) => itemOf(one));
    const again = items[0];
    return {
      mode: 'delta',
      ...sized(this.freedom.repeats && again !== undefined ? [again, ...items] : items),
      hasMore: rest.length > shown.length,
      next: `sync:${shown.at(-1)?.seq ?? (rest.length === 0 ? this.ledger.length : after)}:${this.#fresh()}`,
      publishedThrough: this.#head(),
    };
  }

  #takes(): number {
    return this.freedom.emptyPages && this.#fresh() % 3 === 0 ? 0 : this.freedom.perPage;
  }

  #fresh(): number {
    this.#noise += 1;
    return this.#noise;
  }

  #head() {
    const last = this.ledger.at(-1);
    return last === undefined ? null : instantFromMillis(last.at);
  }

  /**
   * Returns the position just before that time, less a margin. A time within retention is not rejected for the
   * margin.
   */
  #seqAt(time: number): number {
    const first = this.ledger.findIndex((one) => one.at >= time - 60_000);
    const seq = first < 0 ? this.ledger.length : first;
    const expiredAt = this.ledger[this.horizon - 1]?.at ?? Number.NEGATIVE_INFINITY;
    return time >= expiredAt ? Math.max(seq, this.horizon) : seq;
  }

  #mustBeKept(seq: number): void {
    if (seq < this.horizon) throw new Fault('cursor_expired', 'this position is older than the retention');
  }
}

export const idOf = (number: number): InvestmentId =>
  `inv_${String(number).padStart(4, '0')}` as InvestmentId;

function itemOf({ id, cents, at }: Publication): FeedItem {
  if (cents !== null) return recordOf(id, cents, at);
  return { kind: 'tombstone', id, observed_at: instantFromMillis(at), reason: 'withdrawn' };
}

export function recordOf(id: InvestmentId, cents: number, at: number): FeedItem {
  const investment: Investment = {
    id,
    company_id: 'co_1',
    offering_id: 'ofr_1',
    investor_id: null,
    status: 'active',
    group_label: null,
    investment_type: null,
    offering_type: null,
    applied_at: null,
    currency: 'USD',
    committed_cents: centsOf(cents),
    investment_size_cents: null,
    in_escrow_cents: null,
    raised_cents: null,
    shares: null,
    average_share_price: null,
    needs_whitelisting: false,
    visible: true,
    converted_to: null,
    converted_from: null,
    investor_deactivated: false,
    via_entity: false,
    blockers: '[]',
    contracts: '[]',
    observed_at: instantFromMillis(at),
    reason: null,
    extra: null,
  };
  return { kind: 'record', investment, identity: null };
}

const centsOf = (value: number): Cents => value as unknown as Cents;

/** A page as a feed returns it, whose entries need no parsing. */
export const received = (page: FeedPage): FeedPage & ReceivedPage => ({ ...page, parse: () => page });

const sized = (items: readonly FeedItem[]) => ({ size: items.length, items });
