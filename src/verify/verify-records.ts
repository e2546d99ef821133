import type { Version } from '../domain/difference.js';
import { compareAwaiting, compareKeepable, type Listed } from './compare-record.js';
import type { CurrentRead, Platform, StoredRows } from './ports.js';
import type { Drift } from './receipt.js';
import { type SettleParts, settle } from './settle.js';

export interface RecordsParts extends SettleParts {
  readonly stored: StoredRows;
  readonly platform: Platform;
}

export interface RecordsVerified {
  readonly compared: number;
  /** Ids of records whose newest version is not in the feed yet, which were not compared. */
  readonly unpublished: readonly string[];
}

/**
 * Compares stored records with what the platform derives now, one request each. Only records whose published version
 * matches are compared: a change that is not in the feed yet cannot be in the mirror.
 */
export async function verifyRecords(parts: RecordsParts, ids: readonly string[]): Promise<RecordsVerified> {
  const unpublished: string[] = [];
  for (const id of ids) {
    let comparable = true;
    await settle({ ...parts, stored: withPublication(parts.stored, id) }, async () => {
      const read = await compareOne(parts, id);
      comparable = read !== 'unpublished';
      return read === 'unpublished' || read === null ? [] : [read];
    });
    if (!comparable) unpublished.push(id);
  }
  return { compared: ids.length - unpublished.length, unpublished };
}

async function compareOne(
  { platform, stored }: RecordsParts,
  id: string,
): Promise<Drift | 'unpublished' | null> {
  const read = await platform.current(id);
  const [item] = read === null ? [] : await stored.keepable([read.item]);
  const ours = (await stored.records([id])).get(id);
  const awaiting = await stored.awaiting();
  if (read === null) return compareAwaiting(id, ours, undefined, awaiting);
  if (read.publishedMatches !== true) return 'unpublished';
  // A tombstone instead of a record, or an unreadable record: only the feed reports those.
  if (item?.kind !== 'record') return 'unpublished';
  return await compareKeepable(stored, id, ours, asPublished(item, read, ours), awaiting);
}

/** A record published again without a change gets no change number, so its publication is compared too. */
function withPublication(stored: StoredRows, id: string): SettleParts['stored'] {
  let before = '';
  const publication = async () => {
    const ours = (await stored.records([id])).get(id)?.investment;
    return JSON.stringify([ours?.observed_at, ours?.reason]);
  };
  return {
    mark: async () => {
      before = await publication();
      return await stored.mark();
    },
    isUnchangedSince: async (mark) =>
      (await stored.isUnchangedSince(mark)) && (await publication()) === before,
  };
}

/** Returns the record with the time of its publication, because the platform derived it a moment ago. */
function asPublished(item: Listed, { publishedObservedAt }: CurrentRead, ours: Version | undefined): Listed {
  const observed_at = publishedObservedAt ?? ours?.investment.observed_at ?? item.investment.observed_at;
  return { ...item, investment: { ...item.investment, observed_at } };
}
