import { createHmac, timingSafeEqual } from 'node:crypto';
import type { State } from '../state/database.js';
import { one } from '../state/statements.js';

/**
 * A place in a sorted list: what the item there is sorted by, ending in something unique. A page begins after the
 * place and not at a count, so that what is added or taken away before it shifts nothing.
 */
export type Place = readonly (string | number)[];

/** The list's name is part of the seal and not of the text: a cursor of another list is as broken as an invented one. */
export function sealPlace(state: State, list: string, place: Place): string {
  const payload = Buffer.from(JSON.stringify(place));
  return `p_${Buffer.concat([seal(state, list, payload), payload]).toString('base64url')}`;
}

/** Undefined when this list never gave the cursor out. */
export function openPlace(state: State, list: string, cursor: string): Place | undefined {
  const bytes = Buffer.from(cursor.slice(2), 'base64url');
  const payload = bytes.subarray(sealBytes);
  const genuine =
    bytes.length > sealBytes &&
    `p_${bytes.toString('base64url')}` === cursor &&
    timingSafeEqual(bytes.subarray(0, sealBytes), seal(state, list, payload));
  return genuine ? (JSON.parse(payload.toString('utf8')) as Place) : undefined;
}

const sealBytes = 16;

function seal(state: State, list: string, payload: Buffer): Buffer {
  const key = one<{ cursor_key: Buffer }>(state, 'SELECT cursor_key FROM feed')?.cursor_key;
  if (key === undefined) throw new Error('the platform has no key to seal cursors with');
  return createHmac('sha256', key)
    .update('list\0')
    .update(list)
    .update('\0')
    .update(payload)
    .digest()
    .subarray(0, sealBytes);
}
