import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../domain/json.js';

/** Enough to show what is wrong with any record, without letting a hostile one fill the disk. */
const bytesMax = 64 * 1_024;

export function cappedBody(body: string): string {
  if (Buffer.byteLength(body) <= bytesMax) return body;
  // Decoding replaces a character that was cut in two with U+FFFD, which may be longer: hence the margin.
  return Buffer.from(body)
    .subarray(0, bytesMax - 3)
    .toString();
}

/**
 * Returns a digest that identifies an entry without an id. It is the same each time the platform sends the same record,
 * whatever the order of its keys: a listing and the sweep after it send one record with different cursors and reasons.
 * The digest is deleted together with the body, because a digest of a name confirms a guess of the name.
 */
export function digestOf(body: string, problem: string): string {
  // Where identity is not kept, neither are bodies.
  return createHash('sha256')
    .update(body === '' ? problem : contentOf(body))
    .digest('hex');
}

/** Fields that describe the publication and not the record. */
const ofPublication: ReadonlySet<string> = new Set(['cursor', 'reason', 'observed_at']);

function contentOf(body: string): string {
  // Larger bodies are compared as text, because parsing them would take long.
  if (body.length > bytesMax) return body;
  try {
    const record: unknown = JSON.parse(body);
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return body;
    const content = Object.entries(record).filter(([name]) => !ofPublication.has(name));
    return canonicalJson(Object.fromEntries(content) as Json);
  } catch {
    // Not JSON, or nested deeper than the stack allows.
    return body;
  }
}
