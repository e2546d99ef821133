import { createHmac, timingSafeEqual } from 'node:crypto';
import { signatureAlgorithm, signatureScheme, signatureToleranceSeconds } from '../wire/signature.js';

export interface SignatureHeader {
  /** As sent, because the signature covers it. */
  readonly timestamp: string;
  readonly signatures: readonly string[];
}

export type Verdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly problem: 'missing_header' | 'malformed_header' | 'signature_mismatch' }
  /**
   * The signature is genuine and only its time is wrong: a replay or a wrong clock. Positive when the signer is ahead
   * of us.
   */
  | {
      readonly ok: false;
      readonly problem: 'timestamp_out_of_tolerance';
      readonly signerAheadSeconds: number;
    };

/** A rotation overlap needs two. More only increase the work a forger can cause. */
const signaturesTriedMax = 8;
/** Ten can be configured, and a managed endpoint has its own. Each is valid, so each is tried. */
const secretsTriedMax = 16;

const digits = /^\d{1,15}$/;

/**
 * Parses the header. Whitespace around parts is allowed, unknown keys are ignored for newer schemes, and order does
 * not matter.
 */
export function parseSignatureHeader(header: string): SignatureHeader | undefined {
  let timestamp: string | undefined;
  const signatures: string[] = [];
  for (const part of header.split(',')) {
    const equals = part.indexOf('=');
    if (equals < 1) continue;
    const key = part.slice(0, equals).trim();
    const value = part.slice(equals + 1).trim();
    if (key === 't') {
      // Two timestamps would leave open which one was signed.
      if (timestamp !== undefined || !digits.test(value)) return undefined;
      timestamp = value;
    } else if (key === signatureScheme && value !== '') signatures.push(value);
  }
  return timestamp === undefined || signatures.length === 0 ? undefined : { timestamp, signatures };
}

/**
 * Checks that one of our secrets signed exactly these bytes within the tolerance. Every secret is tried on every
 * value and each comparison takes constant time, so the response time reveals nothing. The signature is checked
 * before the time, so `timestamp_out_of_tolerance` always means a genuine signature.
 */
export function verifySignature(
  header: string | undefined,
  body: Uint8Array,
  secrets: readonly string[],
  now: number,
): Verdict {
  if (header === undefined || header.trim() === '') return { ok: false, problem: 'missing_header' };
  const parsed = parseSignatureHeader(header);
  if (parsed === undefined) return { ok: false, problem: 'malformed_header' };
  const given = parsed.signatures.slice(0, signaturesTriedMax).map((value) => Buffer.from(value, 'utf8'));
  let matches = false;
  for (const secret of secrets.slice(0, secretsTriedMax)) {
    const wanted = Buffer.from(digestOf(secret, parsed.timestamp, body), 'utf8');
    for (const value of given)
      if (value.length === wanted.length && timingSafeEqual(value, wanted)) matches = true;
  }
  if (!matches) return { ok: false, problem: 'signature_mismatch' };
  const signerAheadSeconds = Number(parsed.timestamp) - Math.floor(now / 1000);
  return Math.abs(signerAheadSeconds) > signatureToleranceSeconds
    ? { ok: false, problem: 'timestamp_out_of_tolerance', signerAheadSeconds }
    : { ok: true };
}

function digestOf(secret: string, timestamp: string, body: Uint8Array): string {
  return createHmac(signatureAlgorithm, secret).update(`${timestamp}.`).update(body).digest('hex');
}
