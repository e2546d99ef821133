import { expect, test } from 'vitest';
import type { InstallationId, SourceName } from '../../../../src/domain/ids.js';
import type { Message } from '../../../../src/fleet/ports.js';
import { laneOf } from '../../../../src/inbox/ports.js';
import { payloadsOf, readPayload } from '../../../../src/store/dialect/postgres/fleet-message.js';

/** PostgreSQL refuses a payload of so many bytes. */
const payloadBytesMax = 8_000;

const many = <Value>(count: number, make: (n: number) => string): readonly Value[] =>
  Array.from({ length: count }, (_, n) => make(n) as Value);

/** Sources of one company, each with a round of its own: an event about the company belongs to all of them. */
const laneOfCompany = (company: number) =>
  laneOf(many<SourceName>(40, (round) => `company-${company}-round-${String(round).padStart(30, '0')}`));

test.each<readonly [string, Message]>([
  ['lanes of many sources', { kind: 'accepted', lanes: many(30, (n) => String(laneOfCompany(n))) }],
  ['long names', { kind: 'recheck', sources: many(500, (n) => String(n).padStart(63, 'a')) }],
  ['touched sources', { kind: 'touched', sources: many(500, (n) => `s-${n}`), event: 'investment.updated' }],
  [
    'long ids',
    {
      kind: 'installed',
      installations: many<InstallationId>(300, (n) => `inst_${String(n).padStart(195, '0')}`),
    },
  ],
])('a message about %s fits into the payloads of notifications', (_, message) => {
  const payloads = payloadsOf('host:1:2', message);
  for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThan(payloadBytesMax);
  const parts = payloads.map((payload) => readPayload(payload)?.message);
  const listOf = (one: Message | undefined) =>
    Object.values(one ?? {})
      .filter(Array.isArray)
      .flat();
  expect(parts.flatMap(listOf)).toEqual(listOf(message));
});
