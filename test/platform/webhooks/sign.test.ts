import { expect, test } from 'vitest';
import { signatureHeader } from '../../../src/platform/webhooks/sign.js';

const body =
  '{"id":"evt_vector01","event":"investment.changed","created_at":"2026-10-20T09:30:00Z","mode":"live","data":{"id":"inv_vector01","visible":true}}';
const primary = 'cc476cd82b1fec074bf86da6a263fab74a0733a2559b8eea7f488dcb3bc6a0cc';
const previous = '47d22dbe27486d21d40e4369ecd18c91c1d55499e78b18b729eca05a70ee6490';

test('DELIV-03 the signature is HMAC-SHA256 over "<t>.<body>" keyed with the whole secret (published vectors)', () => {
  expect(signatureHeader(['whsec_vector_primary_0001'], 1_790_000_000, body)).toBe(
    `t=1790000000,v1=${primary}`,
  );
  expect(
    signatureHeader(['whsec_vector_primary_0001', 'whsec_vector_previous_0002'], 1_790_000_000, body),
  ).toBe(`t=1790000000,v1=${primary},v1=${previous}`);
});

test('signature: the body is signed as UTF-8 bytes', () => {
  const ascii = signatureHeader(['whsec_a'], 1, '{"a":"é"}');
  expect(ascii).not.toBe(signatureHeader(['whsec_a'], 1, '{"a":"e"}'));
});
