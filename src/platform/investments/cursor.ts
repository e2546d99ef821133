import { createHmac, timingSafeEqual } from 'node:crypto';

/** A position in a listing, with the feed position at its start; or a position in the feed. */
export type Cursor =
  | { readonly kind: 'listing'; readonly after: number; readonly seq: number; readonly through: number }
  /** Every record published up to the time `through` is at or before `seq`. */
  | { readonly kind: 'feed'; readonly seq: number; readonly through: number };

const payloadBytes = 25;
const sealBytes = 16;

/**
 * Returns an opaque, signed cursor. The signature covers the subject (the owner of the view), so a cursor is invalid
 * for any other subject.
 */
export function writeCursor(key: Buffer, subject: string, cursor: Cursor): string {
  const payload = Buffer.alloc(payloadBytes);
  payload.writeUInt8(cursor.kind === 'listing' ? 1 : 2, 0);
  payload.writeBigUInt64BE(BigInt(cursor.seq), 1);
  payload.writeBigInt64BE(BigInt(cursor.through), 9);
  payload.writeBigUInt64BE(BigInt(cursor.kind === 'listing' ? cursor.after : 0), 17);
  return `c_${Buffer.concat([payload, seal(key, subject, payload)]).toString('base64url')}`;
}

/** Returns the cursor, or undefined unless this platform issued it to this subject. */
export function readCursor(key: Buffer, subject: string, text: string): Cursor | undefined {
  const bytes = Buffer.from(text.slice(2), 'base64url');
  if (bytes.length !== payloadBytes + sealBytes) return undefined;
  // Base64 has unused bits at its end, so several texts decode to the same bytes. Accept only the canonical one.
  if (`c_${bytes.toString('base64url')}` !== text) return undefined;
  const payload = bytes.subarray(0, payloadBytes);
  if (!timingSafeEqual(bytes.subarray(payloadBytes), seal(key, subject, payload))) return undefined;
  const seq = Number(payload.readBigUInt64BE(1));
  const through = Number(payload.readBigInt64BE(9));
  const after = Number(payload.readBigUInt64BE(17));
  return payload.readUInt8(0) === 1
    ? { kind: 'listing', after, seq, through }
    : { kind: 'feed', seq, through };
}

const seal = (key: Buffer, subject: string, payload: Buffer): Buffer =>
  createHmac('sha256', key).update(subject).update('\0').update(payload).digest().subarray(0, sealBytes);
