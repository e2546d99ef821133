import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../domain/json.js';

/** Enough to see what is wrong with any record; a hostile one must not fill the disk. */
const bytesMax = 64 * 1_024;

export function cappedBody(body: string): string {
  if (Buffer.byteLength(body) <= bytesMax) return body;
  // Decoding drops nothing but turns a character cut in two into U+FFFD, which may be longer: hence the margin.
  return Buffer.from(body)
    .subarray(0, bytesMax - 3)
    .toString();
}

/**
 * What tells two entries without an id apart: the same for the same record however often, in whatever order and in
 * which pass it was sent. A listing and the sweep behind it tell one record with another cursor and reason. It stands
 * beside the body and goes with it, since a digest of a name would give the name away to whoever can guess it.
 */
export function digestOf(body: string, problem: string): string {
  // Where identity is not kept, neither are bodies.
  return createHash('sha256')
    .update(body === '' ? problem : contentOf(body))
    .digest('hex');
}

/** How a record came to be published, and not what it is. */
const ofPublication: ReadonlySet<string> = new Set(['cursor', 'reason', 'observed_at']);

function contentOf(body: string): string {
  // Larger ones differ in anything and count as different; taking them apart would take long.
  if (body.length > bytesMax) return body;
  try {
    const record: unknown = JSON.parse(body);
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return body;
    const told = Object.entries(record).filter(([name]) => !ofPublication.has(name));
    return canonicalJson(Object.fromEntries(told) as Json);
  } catch {
    // No JSON, or nested deeper than our stack.
    return body;
  }
}
