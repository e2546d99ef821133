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

const from = 'host:1:2';
const lane = String(laneOf(['acme' as SourceName]));

test.each<readonly [Message]>([
  [{ kind: 'accepted', lanes: [lane as never] }],
  [{ kind: 'recheck', sources: ['acme' as SourceName] }],
  [{ kind: 'touched', sources: ['acme' as SourceName], event: 'investment.updated' }],
  [{ kind: 'ticked', source: 'acme' as SourceName }],
  [{ kind: 'installed', installations: ['inst_1' as InstallationId] }],
  [{ kind: 'committed' }],
  [{ kind: 'backed_up' }],
  [{ kind: 'members' }],
])('a message of a member is read as it was sent: %o', (message) => {
  expect(payloadsOf(from, message).map(readPayload)).toEqual([{ from, message }]);
});

test.each<readonly [string, unknown]>([
  ['no JSON', 'CANARY'],
  ['a text', '"members"'],
  ['null', null],
  ['a number', 1],
  ['a list', [{ from, kind: 'members' }]],
  ['a message without a sender', { kind: 'members' }],
  ['a sender that is no text', { from: 1, kind: 'members' }],
  ['an unknown kind', { from, kind: 'dropped' }],
  ['lanes that are no list', { from, kind: 'accepted', lanes: lane }],
  ['a lane of a source that cannot be', { from, kind: 'accepted', lanes: [lane, 'a b'] }],
  ['a lane that is no text', { from, kind: 'accepted', lanes: [1] }],
  ['a name that no source has', { from, kind: 'recheck', sources: ['acme', "'; DROP TABLE sources"] }],
  ['more names than a member sends', { from, kind: 'recheck', sources: many(101, (n) => `s-${n}`) }],
  ['something with a length that is no list', { from, kind: 'recheck', sources: { length: 0 } }],
  ['a touched source without an event', { from, kind: 'touched', sources: ['acme'] }],
  ['an event that is no text', { from, kind: 'touched', sources: ['acme'], event: 5 }],
  ['an event with a line break', { from, kind: 'touched', sources: ['acme'], event: 'a\nb' }],
  ['an event of a name that no source has', { from, kind: 'touched', sources: ['A B'], event: 'a' }],
  ['a tick of no source', { from, kind: 'ticked' }],
  ['a tick of a name that no source has', { from, kind: 'ticked', source: '../acme' }],
  ['an installation that is no id', { from, kind: 'installed', installations: ['inst_1', 'x'] }],
])('a notification of another program is ignored: %s', (_, payload) => {
  expect(readPayload(typeof payload === 'string' ? payload : JSON.stringify(payload))).toBeNull();
});

test('a message of many short names is sent in parts of a hundred', () => {
  const sources = many<SourceName>(250, (n) => `s-${n}`);
  const parts = payloadsOf(from, { kind: 'recheck', sources }).map((one) => readPayload(one)?.message);
  expect(parts.map((part) => (part?.kind === 'recheck' ? part.sources.length : 0))).toEqual([100, 100, 50]);
});
