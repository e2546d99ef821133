import type { Version } from '../domain/difference.js';
import type { Instant } from '../domain/instant.js';
import type { FeedItem } from '../domain/investment.js';
import type { PageToken, Position } from '../domain/position.js';
import { compareAwaiting, compareKeepable, type Listed } from './compare-record.js';
import type { Drift, FullReceipt } from './receipt.js';
import { roundsMax } from './settle.js';
import { type RecordsParts, verifyRecords } from './verify-records.js';

/**
 * Compares every id and every record with a separate listing; the mirror was caught up to `through` before. A
 * difference in a record that did not change during the listing is drift. Records that did change are compared one by
 * one, again until their newest version is published, and are unsettled if it is not.
 */
export async function verifyListing(parts: RecordsParts, through: Instant | null): Promise<FullReceipt> {
  const { stored, catchUp } = parts;
  const mark = await stored.mark();
  const reading = new Reading(parts);
  await reading.pages();
  await reading.unlisted();
  const { suspects, receipt } = reading;
  if (suspects.size === 0) return receipt;

  await catchUp();
  const changed = await stored.changedSince(mark);
  const awaiting = await stored.awaiting();
  const moving = new Map<string, Drift>();
  for (const [id, { listed, held }] of suspects) {
    const ours = (await stored.records([id])).get(id);
    const differs = await compareKeepable(stored, id, ours, listed, awaiting);
    if (differs === null) continue;
    // Withdrawn while the listing passed its place and back again at once, a record is in the mirror without a change.
    const mayHaveReturned = listed === undefined;
    const isUnpublished = ours === undefined && isSince(through, listed);
    // Published again without a change, a record has no entry in the change feed.
    const wasRepublished = held?.investment.observed_at !== ours?.investment.observed_at;
    if (changed.has(id) || wasRepublished || mayHaveReturned || isNewer(ours, listed) || isUnpublished)
      moving.set(id, differs);
    else parts.found({ drift: [differs], settled: true });
  }
  await verifyMoving(parts, moving);
  return receipt;
}

async function verifyMoving(parts: RecordsParts, moving: ReadonlyMap<string, Drift>): Promise<void> {
  let undecided: readonly string[] = [...moving.keys()];
  for (let round = 1; ; round += 1) {
    undecided = (await verifyRecords(parts, undecided)).unpublished;
    if (undecided.length === 0) return;
    if (round === roundsMax) break;
    await parts.pause();
    await parts.catchUp();
  }
  const drift = undecided.flatMap((id) => moving.get(id) ?? []);
  parts.found({ drift, settled: false });
}

interface Suspect {
  readonly listed: Listed | undefined;
  readonly held: Version | undefined;
}

class Reading {
  /** Ids that differed when they were read, with both versions. */
  readonly suspects = new Map<string, Suspect>();
  readonly #seen = new Set<string | null>();
  #listed = 0;
  #unreadable = 0;

  constructor(readonly parts: RecordsParts) {}

  get receipt(): FullReceipt {
    return { listed: this.#listed, compared: this.#listed - this.#unreadable, unreadable: this.#unreadable };
  }

  /**
   * Reads the listing to its end. Terminates: every page names its successor, and the feed rejects a page that names
   * itself.
   */
  async pages(): Promise<void> {
    let position: Position = { kind: 'start' };
    for (;;) {
      const page = await this.parts.platform.page(position);
      await this.#compare(await this.parts.stored.keepable(page.parse().items));
      if (!page.hasMore) return;
      position = { kind: 'page', token: page.next as PageToken };
    }
  }

  /** Adds the ids that the mirror stores and the listing never named. */
  async unlisted(): Promise<void> {
    for await (const id of this.parts.stored.ids()) {
      if (!this.#seen.has(id)) this.suspects.set(id, { listed: undefined, held: undefined });
    }
  }

  async #compare(items: readonly FeedItem[]): Promise<void> {
    this.#listed += items.length;
    const records = items.filter((item): item is Listed => item.kind === 'record');
    this.#unreadable += items.length - records.length;
    for (const { id } of items.filter((item) => item.kind === 'rejected')) this.#seen.add(id);
    const stored = await this.parts.stored.records(records.map(({ investment }) => investment.id));
    const awaiting = await this.parts.stored.awaiting();
    for (const record of records) {
      const { id } = record.investment;
      this.#seen.add(id);
      const held = stored.get(id);
      if (compareAwaiting(id, held, record, awaiting) === null) this.suspects.delete(id);
      else this.suspects.set(id, { listed: record, held });
    }
  }
}

function isNewer(ours: Version | undefined, listed: Version | undefined): boolean {
  return (
    ours !== undefined && listed !== undefined && ours.investment.observed_at > listed.investment.observed_at
  );
}

/**
 * Whether a record appeared after the mirror was caught up. It may be gone again, and the feed then reports it as
 * never stored.
 */
function isSince(through: Instant | null, listed: Version | undefined): boolean {
  return listed !== undefined && (through === null || listed.investment.observed_at >= through);
}
