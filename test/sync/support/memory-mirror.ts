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
  awaiting: Set<InvestmentId>;
  generation: number;
  fence: number;
  holder: string | null;
  identity: boolean;
  namesIncomplete: boolean;
  readonly ticks: TickReport[];
}

/** The mirror port over plain maps. Each method is one atomic step. */
export class MemoryMirror implements Mirror {
  readonly sources = new Map<string, Held>();
  /** Called after every commit, so that a test can check what a reader would see. */
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
      awaiting: new Set(),
      generation: 0,
      fence: 0,
      holder: null,
      identity: true,
      namesIncomplete: false,
      ticks: [],
    };
    this.sources.set(name, held);
    if (held.holder !== null && held.holder !== holder)
      throw new Fault('lease_lost', 'another holder has this source');
    held.holder = holder;
    held.fence += 1;
    return {
      lease: { source: name, fence: held.fence },
      phase: held.halted ?? phaseOf(held),
      filtersChanged: held.fingerprint !== fingerprint,
      identityIncluded: held.identity,
      cursorSavedAt: null,
    };
  }

  async loseIdentity(lease: Lease): Promise<boolean> {
    const held = this.#under(lease);
    const had = held.identity;
    held.identity = false;
    held.namesIncomplete = true;
    return had;
  }

  async regainIdentity(lease: Lease): Promise<boolean> {
    const held = this.#under(lease);
    held.identity = true;
    return held.namesIncomplete;
  }

  async deleteAwaiting(lease: Lease, rows?: number): Promise<Applied | null> {
    const held = this.#under(lease);
    const removed = held.awaiting.size;
    if (rows !== undefined && rows !== removed) return null;
    for (const id of held.awaiting) held.rows.delete(id);
    held.awaiting.clear();
    this.onCommit(held);
    return { ...nothingApplied, removed };
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
      kind,
      restarts,
      notBefore,
      generation: held.generation,
      token: null,
      lowMark: null,
      pages: 0,
      rows: 0,
      final: null,
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
    if (held.active.kind !== 'listing') throw new Error('nothing to publish');
    const { listing } = held.active;
    const absent = [...held.rows].filter(([id]) => !held.staged.has(id));
    const wouldRemove = absent.length;
    const tooMany = wouldRemove >= policy.rows && wouldRemove > policy.share * held.rows.size;
    const brake = tooMany && !policy.accepted ? { wouldRemove, held: held.rows.size } : null;
    const added = [...held.staged.keys()].filter((id) => !held.rows.has(id)).length;
    held.rows = new Map([...held.staged, ...(brake === null ? [] : absent)]);
    held.awaiting = new Set(brake === null ? [] : absent.map(([id]) => id));
    held.namesIncomplete &&= !held.identity;
    held.staged = new Map();
    const listed = { at: instantFromMillis(this.now()), restarts: listing.restarts };
    const since =
      listing.lowMark === null
        ? ({ kind: 'cursor', cursor: final } as const)
        : ({ kind: 'since', time: listing.lowMark } as const);
    held.active = { kind: 'sweeping', since, cursor: final, listed };
    this.onCommit(held);
    return { applied: { ...nothingApplied, added, removed: brake === null ? wouldRemove : 0 }, brake };
  }

  async applyPage(lease: Lease, page: FeedPage, reached: Reached, ending?: Ending): Promise<Applied> {
    const held = this.#under(lease);
    const { active } = held;
    if (active.kind !== 'sweeping' && active.kind !== 'following') throw new Error('no delta is due');
    const applied = apply(held.rows, page.items);
    for (const item of page.items)
      if (item.kind !== 'rejected')
        held.awaiting.delete(item.kind === 'record' ? item.investment.id : item.id);
    const { cursor } = reached;
    held.active =
      reached.kind === 'following' || active.kind === 'following'
        ? { kind: 'following', cursor, listed: active.listed, namesIncomplete: false }
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

const phaseOf = ({ active, identity, namesIncomplete }: Held): Active =>
  active.kind === 'following' ? { ...active, namesIncomplete: identity && namesIncomplete } : active;

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
