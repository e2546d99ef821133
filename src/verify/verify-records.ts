import { compareDoubted } from './compare-record.js';
import type { HeldRows, Platform } from './ports.js';
import type { Drift } from './receipt.js';
import { type SettleParts, settle } from './settle.js';

export interface RecordsParts extends SettleParts {
  readonly held: HeldRows;
  readonly platform: Platform;
}

export interface RecordsVerified {
  readonly compared: number;
  readonly unpublished: number;
}

/**
 * Held records against what the platform derives now, one request each. Only where it says that this is also what
 * it published: a change that is not in the feed yet cannot be in the mirror.
 */
export async function verifyRecords(parts: RecordsParts, ids: readonly string[]): Promise<RecordsVerified> {
  let unpublished = 0;
  for (const id of ids) {
    let comparable = true;
    await settle(parts, async () => {
      const read = await compareOne(parts, id);
      comparable = read !== 'unpublished';
      return read === 'unpublished' || read === null ? [] : [read];
    });
    if (!comparable) unpublished += 1;
  }
  return { compared: ids.length - unpublished, unpublished };
}

async function compareOne(
  { platform, held }: RecordsParts,
  id: string,
): Promise<Drift | 'unpublished' | null> {
  const read = await platform.current(id);
  const ours = (await held.records([id])).get(id);
  const awaiting = await held.awaiting();
  if (read === null) return compareDoubted(id, ours, undefined, awaiting);
  if (read.publishedMatches !== true) return 'unpublished';
  const [item] = await held.keepable([read.item]);
  // A tombstone in place of a record, or a record nobody can read: the feed is where those are told.
  return item?.kind === 'record' ? compareDoubted(id, ours, item, awaiting) : 'unpublished';
}
