import type { FeedItem } from '../../src/domain/investment.js';

export interface Version {
  readonly status: string;
  readonly observed_at: string;
  readonly reason: string | null;
  readonly name: string | null;
}

export interface Expected {
  readonly id: string;
  readonly kind: 'added' | 'changed' | 'removed';
}

/**
 * A reference model of the mirror. The last entry of a page counts, as a whole; a listing replaces everything that the
 * brake does not keep.
 */
export class MirrorModel {
  readonly rows = new Map<string, Version>();
  readonly quarantined = new Set<string>();
  readonly awaiting = new Set<string>();

  applyPage(items: readonly FeedItem[]): Expected[] {
    const last = new Map<string, FeedItem>();
    for (const item of items) {
      const id = idOf(item);
      if (item.kind === 'rejected') this.quarantined.add(id);
      else {
        this.quarantined.delete(id);
        last.delete(id);
        last.set(id, item);
      }
    }
    const changes: Expected[] = [];
    for (const item of items) this.awaiting.delete(idOf(item));
    for (const [id, item] of last) {
      const held = this.rows.get(id);
      if (item.kind !== 'record') {
        if (this.rows.delete(id)) changes.push({ id, kind: 'removed' });
        continue;
      }
      const version = versionOf(item);
      if (held === undefined) changes.push({ id, kind: 'added' });
      else if (differs(held, version)) changes.push({ id, kind: 'changed' });
      if (held === undefined || differs(held, version) || !isRepeat(held, version))
        this.rows.set(id, version);
    }
    return changes;
  }

  accept(): Expected[] {
    const gone = [...this.awaiting];
    for (const id of gone) this.rows.delete(id);
    this.awaiting.clear();
    return gone.map((id) => ({ id, kind: 'removed' }));
  }

  relist(pages: readonly (readonly FeedItem[])[], mayRemove = Number.POSITIVE_INFINITY): Expected[] {
    const named = new Map<string, Version | 'unreadable'>();
    // A tombstone erases the identity at the end of its page, even when a later page brings the record back.
    for (const page of pages) {
      const readable = page.filter((item) => item.kind !== 'rejected');
      for (const [id, item] of new Map(readable.map((item) => [idOf(item), item]))) {
        const held = this.rows.get(id);
        if (item.kind === 'tombstone' && held !== undefined) this.rows.set(id, { ...held, name: null });
      }
    }
    for (const item of pages.flat()) {
      const id = idOf(item);
      if (item.kind === 'record') named.set(id, versionOf(item));
      else if (item.kind === 'tombstone') named.delete(id);
      else if (!named.has(id)) named.set(id, 'unreadable');
    }
    // A listing resolves the quarantine entries that it did not name again.
    this.quarantined.clear();
    for (const item of pages.flat()) {
      if (item.kind === 'rejected') this.quarantined.add(idOf(item));
      else this.quarantined.delete(idOf(item));
    }
    const changes: Expected[] = [];
    const absent = [...this.rows.keys()].filter((id) => !named.has(id));
    this.awaiting.clear();
    for (const id of absent)
      if (absent.length > mayRemove) this.awaiting.add(id);
      else {
        this.rows.delete(id);
        changes.push({ id, kind: 'removed' });
      }
    for (const [id, version] of named) {
      if (version === 'unreadable') continue;
      const held = this.rows.get(id);
      if (held !== undefined && !differs(held, version)) {
        if (isRepublished(held, version)) this.rows.set(id, version);
        continue;
      }
      changes.push({ id, kind: held === undefined ? 'added' : 'changed' });
      this.rows.set(id, version);
    }
    return changes;
  }

  visible(): ({ id: string } & Version)[] {
    return [...this.rows].map(([id, version]) => ({ id, ...version })).sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}

function idOf(item: FeedItem): string {
  return String(item.kind === 'record' ? item.investment.id : item.id);
}

function versionOf({ investment, identity }: Extract<FeedItem, { kind: 'record' }>): Version {
  const { status, observed_at, reason } = investment;
  return { status, observed_at, reason, name: identity?.name ?? null };
}

/** Returns whether a record repeats a listed one, now with a reason: nothing was published in between. */
function isRepeat(held: Version, version: Version): boolean {
  return held.observed_at === version.observed_at && held.reason === null;
}

/** Returns whether a listing shows another publication of the same content. */
function isRepublished(held: Version, listed: Version): boolean {
  const reasons = new Set([held.reason, listed.reason]);
  return held.observed_at !== listed.observed_at || (!reasons.has(null) && reasons.size > 1);
}

function differs(held: Version, version: Version): boolean {
  return held.status !== version.status || held.name !== version.name;
}
