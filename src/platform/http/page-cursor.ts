import { createHmac, timingSafeEqual } from 'node:crypto';
import type { State } from '../state/database.js';
import { one } from '../state/statements.js';

/**
 * A position in a sorted list: the sort key of an item, ending in a unique value. A page starts after the position
 * rather than at an offset, so rows added or removed earlier in the list do not shift it.
 */
export type Position = readonly (string | number)[];

/** Returns a signed cursor. The list's name is part of the signature, so a cursor of another list is invalid. */
export function sealPosition(state: State, list: string, place: Position): string {
  const payload = Buffer.from(JSON.stringify(place));
  return `p_${Buffer.concat([seal(state, list, payload), payload]).toString('base64url')}`;
}

/** Returns undefined unless the cursor was issued by this list. */
export function openPosition(state: State, list: string, cursor: string): Position | undefined {
  const bytes = Buffer.from(cursor.slice(2), 'base64url');
  const payload = bytes.subarray(sealBytes);
  const genuine =
    bytes.length > sealBytes &&
    `p_${bytes.toString('base64url')}` === cursor &&
    timingSafeEqual(bytes.subarray(0, sealBytes), seal(state, list, payload));
  return genuine ? (JSON.parse(payload.toString('utf8')) as Position) : undefined;
}

const sealBytes = 16;

function seal(state: State, list: string, payload: Buffer): Buffer {
  const key = one<{ cursor_key: Buffer }>(state, 'SELECT cursor_key FROM feed')?.cursor_key;
  if (key === undefined) throw new Error('the platform has no key to sign cursors with');
  return createHmac('sha256', key)
    .update('list\0')
    .update(list)
    .update('\0')
    .update(payload)
    .digest()
    .subarray(0, sealBytes);
}
