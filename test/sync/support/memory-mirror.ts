import { Fault } from '../../../src/domain/fault.js';
import type { InvestmentId } from '../../../src/domain/ids.js';
import { instantFromMillis } from '../../../src/domain/instant.js';
import type { FeedItem, Investment } from '../../../src/domain/investment.js';
import type { Cursor, PageToken } from '../../../src/domain/position.js';
import {
  type Active,
  type Applied,
  type BrakePolicy,
  type Ending,
  type FeedPage,
  type Halted,
  type Lease,
  type ListingProgress,
  type ListingStart,
  type Mirror,
  nothingApplied,
  type Opened,
  type Reached,
  type SourceIdentity,
  type TickReport,
} from '../../../src/sync/ports.js';

interface Held {
  fingerprint: string;
  active: Active;
  halted: Halted | null;
  rows: Map<InvestmentId, Investment>;
  staged: Map<InvestmentId, Investment>;
  generation: number;
  fence: number;
  holder: string | null;
  identity: boolean;
  readonly ticks: TickReport[];
}

/** The mirror's port over plain maps: each method is one step that happens whole or not at all. */
export class MemoryMirror implements Mirror {
  readonly sources = new Map<string, Held>();
  /** Called after every commit: where a test looks at what a reader would see. */
  onCommit: (source: Held) => void = () => {};

  constructor(readonly now: () => number) {}

  of(source: string): Held {
    const held = this.sources.get(source);
    if (held === undefined) throw new Error(`no source ${source}`);
    return held;
  }

  async open({ name, fingerprint }: SourceIdentity, holder: string): Promise<Opened> {
    const held: Held = this.sources.get(name) ?? {
      fingerprint,
      active: { kind: 'empty' },
      halted: null,
      rows: new Map(),
      staged: new Map(),
      generation: 0,
      fence: 0,
      holder: null,
      identity: true,
      ticks: [],
    };
    this.sources.set(name, held);
    if (held.holder !== null && held.holder !== holder)
      throw new Fault('lease_lost', 'another holder has this source');
    held.holder = holder;
    held.fence += 1;
    return {
      lease: { source: name, fence: held.fence },
      standing: held.halted ?? held.active,
      filtersChanged: held.fingerprint !== fingerprint,
      cursorSavedAt: null,
    };
  }

  async loseIdentity(lease: Lease): Promise<boolean> {
    const held = this.#under(lease);
    const had = held.identity;
    held.identity = false;
    return had;
  }

  async renew(lease: Lease): Promise<void> {
    this.#under(lease);
  }

  async release(lease: Lease): Promise<void> {
    this.#under(lease).holder = null;
  }

  async beginListing(lease: Lease, start: ListingStart): Promise<ListingProgress> {
    const held = this.#under(lease);
    held.staged = new Map();
    held.fingerprint = start.fingerprint;
    held.generation += 1;
    const { kind, restarts, notBefore } = start;
    const listing: ListingProgress = {
      ...{ kind, restarts, notBefore, generation: held.generation },
      ...{ token: null, lowMark: null, pages: 0, rows: 0, final: null },
    };
    held.active = { kind: 'listing', listing };
    this.onCommit(held);
    return listing;
  }

  async addListingPage(lease: Lease, page: FeedPage) {
    const held = this.#under(lease);
    if (held.active.kind !== 'listing') throw new Error('no listing is under way');
    const before = held.active.listing;
    apply(held.staged, page.items);
    const progress: ListingProgress = {
      ...before,
      token: page.hasMore ? (page.next as PageToken) : null,
      final: page.hasMore ? null : (page.next as Cursor),
      lowMark: before.pages === 0 ? page.publishedThrough : before.lowMark,
      pages: before.pages + 1,
      rows: held.staged.size,
    };
    held.active = { kind: 'listing', listing: progress };
    this.onCommit(held);
    return { progress, applied: nothingApplied };
  }

  async publishListing(lease: Lease, final: Cursor, policy: BrakePolicy) {
    const held = this.#under(lease);
    if (held.active.kind !== 'listing' && held.active.kind !== 'held') throw new Error('nothing to publish');
    const { listing } = held.active;
    const wouldRemove = [...held.rows.keys()].filter((id) => !held.staged.has(id)).length;
    if (!policy.accepted && wouldRemove >= policy.rows && wouldRemove > policy.share * held.rows.size) {
      const brake = { wouldRemove, held: held.rows.size };
      held.active = { kind: 'held', listing, brake };
      return { applied: nothingApplied, brake };
    }
    const added = [...held.staged.keys()].filter((id) => !held.rows.has(id)).length;
    held.rows = held.staged;
    held.staged = new Map();
    const listed = { at: instantFromMillis(this.now()), restarts: listing.restarts };
    const since =
      listing.lowMark === null
        ? ({ kind: 'cursor', cursor: final } as const)
        : ({ kind: 'since', time: listing.lowMark } as const);
    held.active = { kind: 'sweeping', since, cursor: final, listed };
    this.onCommit(held);
    return { applied: { ...nothingApplied, added, removed: wouldRemove }, brake: null };
  }

  async applyPage(lease: Lease, page: FeedPage, reached: Reached, ending?: Ending): Promise<Applied> {
    const held = this.#under(lease);
    const { active } = held;
    if (active.kind !== 'sweeping' && active.kind !== 'following') throw new Error('no delta is due');
    const applied = apply(held.rows, page.items);
    const { cursor } = reached;
    held.active =
      reached.kind === 'following' || active.kind === 'following'
        ? { kind: 'following', cursor, listed: active.listed }
        : { ...active, since: { kind: 'cursor', cursor } };
    if (ending !== undefined) {
      held.ticks.push(ending(applied));
      held.halted = null;
      held.holder = null;
    }
    this.onCommit(held);
    return applied;
  }

  async recordTick(lease: Lease, report: TickReport, halted: Parameters<Mirror['recordTick']>[2]) {
    const held = this.#under(lease);
    held.ticks.push(report);
    held.halted =
      halted === null
        ? null
        : { kind: 'halted', ...halted, at: instantFromMillis(this.now()), before: held.active };
  }

  #under(lease: Lease): Held {
    const held = this.of(lease.source);
    if (held.fence !== lease.fence) throw new Fault('lease_lost', 'a newer lease was given out');
    return held;
  }
}

function apply(rows: Map<InvestmentId, Investment>, items: readonly FeedItem[]): Applied {
  let { added, changed, removed, unchanged, quarantined } = nothingApplied;
  for (const item of items) {
    if (item.kind === 'rejected') quarantined += 1;
    else if (item.kind === 'tombstone') removed += rows.delete(item.id) ? 1 : 0;
    else {
      const before = rows.get(item.investment.id);
      if (before === undefined) added += 1;
      else if (before.committed_cents === item.investment.committed_cents) unchanged += 1;
      else changed += 1;
      rows.set(item.investment.id, item.investment);
    }
  }
  return { added, changed, removed, unchanged, quarantined };
}
