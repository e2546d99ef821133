import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { parseSignatureHeader, verifySignature } from '../../src/inbox/verify-signature.js';
import fc from '../support/property.js';

/** The published test vector of the scheme, not computed by our code. */
const vector = {
  body: Buffer.from(
    '{"id":"evt_vector01","event":"investment.changed","created_at":"2026-10-20T09:30:00Z","mode":"live","data":{"id":"inv_vector01","visible":true}}',
  ),
  at: 1_790_000_000,
  primary: {
    secret: 'whsec_vector_primary_0001',
    v1: 'cc476cd82b1fec074bf86da6a263fab74a0733a2559b8eea7f488dcb3bc6a0cc',
  },
  previous: {
    secret: 'whsec_vector_previous_0002',
    v1: '47d22dbe27486d21d40e4369ecd18c91c1d55499e78b18b729eca05a70ee6490',
  },
};
const { primary, previous } = vector;
const now = vector.at * 1000;
const header = (...v1: readonly string[]) =>
  [`t=${vector.at}`, ...v1.map((value) => `v1=${value}`)].join(',');
const verify = (
  text: string | undefined,
  secrets: readonly string[] = [primary.secret],
  at = now,
  body = vector.body,
) => verifySignature(text, body, secrets, at);
const mismatch = { ok: false, problem: 'signature_mismatch' };
const malformed = { ok: false, problem: 'malformed_header' };

describe('verifySignature', () => {
  test('DELIV-03 verifySignature: the published vectors verify', () => {
    expect(verify(header(primary.v1))).toEqual({ ok: true });
    expect(verify(header(previous.v1), [previous.secret])).toEqual({ ok: true });
  });

  test('DELIV-02 CLIENT-23 verifySignature: during a rotation either value matches either secret, in any order', () => {
    const both = [primary.secret, previous.secret];
    for (const text of [header(primary.v1, previous.v1), header(previous.v1, primary.v1)]) {
      expect(verify(text, both)).toEqual({ ok: true });
      expect(verify(text, [primary.secret]).ok).toBe(true);
      expect(verify(text, [previous.secret]).ok).toBe(true);
    }
    expect(verify(header(previous.v1), both)).toEqual({ ok: true });
    expect(verify(header(previous.v1), [primary.secret])).toEqual(mismatch);
    expect(verify(header(primary.v1), [])).toEqual(mismatch);
  });

  test('verifySignature: whitespace around parts is allowed and unknown keys are ignored', () => {
    expect(verify(` t = ${vector.at} , v2=abc, kid , t2, =t, v1= ${primary.v1} `).ok).toBe(true);
  });

  test('verifySignature: each problem has a name', () => {
    expect(verify(undefined)).toEqual({ ok: false, problem: 'missing_header' });
    expect(verify('  ')).toEqual({ ok: false, problem: 'missing_header' });
    expect(verify(`v1=${primary.v1}`)).toEqual(malformed);
    expect(verify(`t=${vector.at}`)).toEqual(malformed);
    expect(verify(`t=${vector.at},v1=`)).toEqual(malformed);
    expect(verify(`t=${vector.at},v2=${primary.v1}`), 'of another scheme').toEqual(malformed);
    expect(verify(`t=${vector.at}x,v1=${primary.v1}`)).toEqual(malformed);
    expect(verify(`t=-5,v1=${primary.v1}`)).toEqual(malformed);
    expect(verify(`t=,v1=${primary.v1}`)).toEqual(malformed);
    expect(verify(`t=1,t=2,v1=${primary.v1}`)).toEqual(malformed);
    expect(verify(header('00'))).toEqual(mismatch);
    expect(verify(header(primary.v1.toUpperCase()))).toEqual(mismatch);
  });

  test('verifySignature: the tolerance is 300 seconds to either side', () => {
    for (const seconds of [-300, -299, 0, 299, 300])
      expect(verify(header(primary.v1), undefined, now + seconds * 1000).ok, `${seconds}`).toBe(true);
    for (const seconds of [-301, 301])
      expect(verify(header(primary.v1), undefined, now + seconds * 1000)).toEqual({
        ok: false,
        problem: 'timestamp_out_of_tolerance',
        signerAheadSeconds: -seconds,
      });
  });

  test('verifySignature: a forged signature is a mismatch at any age; out of tolerance always means a genuine one', () => {
    expect(verify(header('00'), undefined, now + 400_000)).toEqual(mismatch);
  });

  test('verifySignature: no flipped bit of body, time or signature verifies', () => {
    fc.assert(
      fc.property(fc.nat(vector.body.length * 8 - 1), (bit) => {
        const body = Buffer.from(vector.body);
        body[bit >> 3] = (body[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(verify(header(primary.v1), undefined, now, body)).toEqual(mismatch);
      }),
    );
    expect(verify(`t=${vector.at + 1},v1=${primary.v1}`)).toEqual(mismatch);
    for (let at = 0; at < primary.v1.length; at += 1) {
      const digit = primary.v1[at] === '0' ? '1' : '0';
      expect(verify(header(primary.v1.slice(0, at) + digit + primary.v1.slice(at + 1)))).toEqual(mismatch);
    }
  });

  test('verifySignature: at most eight values and sixteen secrets are tried, more than can be configured', () => {
    const wrong = 'f'.repeat(64);
    expect(verify(header(...Array<string>(7).fill(wrong), primary.v1)).ok).toBe(true);
    expect(verify(header(...Array<string>(8).fill(wrong), primary.v1))).toEqual(mismatch);
    const others = (count: number) => Array.from({ length: count }, (_, index) => `other ${index}`);
    expect(verify(header(primary.v1), [...others(15), primary.secret]).ok).toBe(true);
    expect(verify(header(primary.v1), [...others(16), primary.secret])).toEqual(mismatch);
  });

  test('verifySignature: the raw bytes are signed, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string({ minLength: 1 }), (bytes, secret) => {
        const body = Buffer.from(bytes);
        const v1 = createHmac('sha256', secret).update(`${vector.at}.`).update(body).digest('hex');
        expect(verify(header(v1), [secret], now, body).ok).toBe(true);
        expect(verify(header(v1), [secret], now, Buffer.concat([body, Buffer.from(' ')]))).toEqual(mismatch);
      }),
    );
  });
});

describe('parseSignatureHeader', () => {
  test('parseSignatureHeader: never throws, and an accepted header has a time of digits and at least one value', () => {
    const parts = fc.constantFrom('t=1', 't=x', 'v1=ab', 'v1=', 'v2=zz', '=', '', ' v1 = cd ', 't', ',');
    const texts = fc.oneof(
      fc.string(),
      fc.array(parts).map((all) => all.join(',')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseSignatureHeader(text);
        if (parsed === undefined) return;
        expect(parsed.timestamp).toMatch(/^\d+$/);
        expect(parsed.signatures.length).toBeGreaterThan(0);
      }),
      { numRuns: 2000 },
    );
  });
});
