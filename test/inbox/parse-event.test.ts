import { expect, test } from 'vitest';
import { parseDelivery } from '../../src/inbox/parse-event.js';
import fc from '../support/property.js';

const envelope = {
  id: 'evt_1',
  event: 'investment.changed',
  created_at: '2026-10-20T09:30:00Z',
  mode: 'live',
  installation: { id: 'inst_1', target: { type: 'company', id: 'co_9', name: 'Acme' }, test: false },
  data: { id: 'inv_1', visible: true, company: 'co_1', reason: null, observed_at: '2026-10-20T09:29:58.5Z' },
};
const parseEvent = (raw: Uint8Array) => parseDelivery(raw)?.event;
const parse = (value: unknown) => parseEvent(Buffer.from(JSON.stringify(value)));
const nested = (depth: number) =>
  parseEvent(
    Buffer.from(`{"id":"evt_1","event":"a.b","x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`),
  );

test('DELIV-04 DELIV-06 EVT-03 parse event: an envelope has its event, installation, company, investment and time', () => {
  expect(parse(envelope)).toEqual({
    eventId: 'evt_1',
    installation: 'inst_1',
    event: 'investment.changed',
    company: 'co_1',
    investment: 'inv_1',
    observedAt: '2026-10-20T09:29:58.500Z',
    test: false,
  });
});

test('EVT-11 parse event: unknown events and fields are accepted', () => {
  expect(parse({ ...envelope, event: 'spv.closed', flavour: { a: 1 } })).toMatchObject({
    event: 'spv.closed',
  });
});

test('DELIV-07 CLIENT-25 parse event: a test event is recognized by its id or its installation', () => {
  expect(parse({ ...envelope, id: 'evt_test_1' })?.test).toBe(true);
  expect(parse({ ...envelope, installation: { id: 'inst_1', target: null, test: true } })?.test).toBe(true);
  expect(parse({ ...envelope, mode: 'test' })?.test, 'DELIV-05 the mode is not a test mark').toBe(false);
});

test('parse event: older envelopes name no installation, and some events no company', () => {
  const { installation: _, ...older } = envelope;
  expect(parse(older)).toMatchObject({ installation: '', company: 'co_1' });
  expect(parse({ ...envelope, data: { id: 'inv_1', company: null } })?.company).toBe('co_9');
  expect(parse({ id: 'evt_1', event: 'a' })).toMatchObject({
    installation: '',
    company: null,
    observedAt: null,
  });
});

test('parse event: the company of a round event is that of its installation, because its data has a name only', () => {
  const data = { offering: 'ofr_1', status: 'open', company: { name: 'Acme', url: 'acme' } };
  expect(parse({ ...envelope, event: 'offering.opened', data })).toMatchObject({
    company: 'co_9',
    investment: null,
  });
  const target = { type: 'syndicate', id: 'syn_1', name: 'Angels' };
  const of = { ...envelope.installation, target };
  expect(parse({ ...envelope, event: 'offering.opened', installation: of, data })?.company).toBeNull();
});

test('parse event: an event about something else names its investment beside its own id', () => {
  const data = { id: 'is_1', status: 'completed', investment: 'inv_2' };
  expect(parse({ ...envelope, event: 'investment_session.completed', data })?.investment).toBe('inv_2');
  expect(parse({ ...envelope, data: { investment: 'inv_3' } })?.investment).toBe('inv_3');
});

test('parse event: only events that the feed publishes have a time that the feed can reach', () => {
  const data = { occurred_at: '2026-10-20T09:30:00.123456Z' };
  expect(parse({ ...envelope, event: 'investment.created', data })?.observedAt).toBe(
    '2026-10-20T09:30:00.123Z',
  );
  expect(parse({ ...envelope, event: 'syndicate_member.joined', data })?.observedAt).toBeNull();
});

test('parse event: a body that is not an event is rejected', () => {
  for (const value of [null, 1, 'a', [], {}, { id: 'evt_1' }, { event: 'a' }, { id: 'e', event: 'a' }])
    expect(parse(value), JSON.stringify(value)).toBeUndefined();
  expect(parse({ ...envelope, event: 'a b' })).toBeUndefined();
  for (const id of [{ a: 1 }, 5, 'inst 1', `inst_${'1'.repeat(200)}`])
    expect(parse({ ...envelope, installation: { id } }), JSON.stringify(id)).toBeUndefined();
  for (const text of ['', '{', 'nul', '{"id":"evt_1"', '\ufeff{}'])
    expect(parseEvent(Buffer.from(text))).toBeUndefined();
  expect(parseEvent(Buffer.from([0x22, 0xff, 0x22]))).toBeUndefined();
});

test('parse event: nesting is limited, brackets inside strings do not count', () => {
  expect(nested(32)).toBeDefined();
  expect(nested(33)).toBeUndefined();
  expect(nested(30_000)).toBeUndefined();
  expect(parse({ ...envelope, note: '[[['.repeat(100) })).toBeDefined();
  expect(parse({ ...envelope, note: `\\"${'{'.repeat(100)}` })).toBeDefined();
});

test('parse event: keys of the prototype are data and have no effect', () => {
  const hostile = '{"__proto__":{"id":"evt_x","event":"a"},"constructor":{"prototype":{"polluted":1}}}';
  expect(parseEvent(Buffer.from(hostile))).toBeUndefined();
  expect(
    parseEvent(Buffer.from('{"id":"evt_1","event":"a","data":{"__proto__":{"company":"co_1"}}}')),
  ).toMatchObject({
    company: null,
  });
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('parse event: no body makes it throw, and what it returns is well-formed', () => {
  const near = fc.record(
    {
      id: fc.oneof(fc.constant('evt_1'), fc.jsonValue()),
      event: fc.oneof(fc.constant('a.b'), fc.jsonValue()),
      installation: fc.oneof(fc.record({ id: fc.constant('inst_1'), test: fc.jsonValue() }), fc.jsonValue()),
      data: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const bodies = fc.oneof(
    near.map((value) => Buffer.from(JSON.stringify(value))),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(bodies, (body) => {
      const event = parseEvent(body);
      if (event === undefined) return;
      expect(event.eventId).toMatch(/^evt_[A-Za-z0-9_-]+$/);
      expect(event.event).toMatch(/^[A-Za-z0-9_.-]+$/);
      expect(event.installation).toMatch(/^[A-Za-z0-9_-]*$/);
    }),
    { numRuns: 5000 },
  );
});
