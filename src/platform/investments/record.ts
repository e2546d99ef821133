import type { JsonObject } from '../../domain/json.js';
import { mergeDeeply } from './merge.js';

/** When and why: `cursor` and `reason` speak of a place in the feed, so a listing has neither. */
export interface Published {
  readonly observedAt: number;
  readonly cursor: string | null;
  readonly reason: string | null;
}

/** The record as one reader may see it: whoever it is about stays out unless the reader was granted identity. */
export function renderRecord(
  content: JsonObject,
  identity: JsonObject,
  withIdentity: boolean,
  published: Published,
): JsonObject {
  return { ...(withIdentity ? mergeDeeply(content, identity) : content), ...stamp(published) };
}

/** All that is left of a record for somebody who may no longer see it. */
export function renderTombstone(id: string, published: Published): JsonObject {
  return { id, visible: false, ...stamp(published) };
}

const stamp = (published: Published) => ({
  observed_at: new Date(published.observedAt).toISOString(),
  cursor: published.cursor,
  reason: published.reason,
});
