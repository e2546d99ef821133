import type { JsonObject } from '../../domain/json.js';
import { mergeDeeply } from './merge.js';

/** Publication data of a record. `cursor` and `reason` are null in a listing, which has no feed position. */
export interface Published {
  readonly observedAt: number;
  readonly cursor: string | null;
  readonly reason: string | null;
}

/** Returns the record for one caller. Identity is included only if the caller was granted it. */
export function renderRecord(
  content: JsonObject,
  identity: JsonObject,
  withIdentity: boolean,
  published: Published,
): JsonObject {
  return { ...(withIdentity ? mergeDeeply(content, identity) : content), ...stamp(published) };
}

/** Returns the tombstone of a record that the caller may no longer see. */
export function renderTombstone(id: string, published: Published): JsonObject {
  return { id, visible: false, ...stamp(published) };
}

const stamp = (published: Published) => ({
  observed_at: new Date(published.observedAt).toISOString(),
  cursor: published.cursor,
  reason: published.reason,
});
