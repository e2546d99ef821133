import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import { beatMillis, createFleet } from '../../src/fleet/fleet.js';
import type { Message } from '../../src/fleet/ports.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { names, started, Tables } from './fleet-in-memory.js';

const fresh = () => ({ tables: new Tables(), clock: new VirtualClock() });

test('a member whose registration is gone registers again, and reports a registration that has no effect', async () => {
  const { tables, clock } = fresh();
  const errors: unknown[] = [];
  const onHeartbeat = (error: unknown) => void errors.push(error);
  await started(tables, clock, 'one', names('a', 'b'), { onHeartbeat });
  tables.members.clear();
  await clock.advance(beatMillis);
  expect([...tables.members]).toEqual([['one', ['a', 'b']]]);
  expect([tables.joins, errors]).toEqual([2, [null]]);
  tables.members.clear();
  tables.isForgetful = true;
  await clock.advance(beatMillis);
  expect(errors.at(-1)).toMatchObject({ message: expect.stringContaining('is not registered') });
});

test('sources of a member whose process died are taken over with the next heartbeat, and it no longer counts', async () => {
  const { tables, clock } = fresh();
  const gone = new Set<string>();
  const isGone = (member: string) => gone.has(member);
  await started(tables, clock, 'one', names('a', 'b'));
  const two = await started(tables, clock, 'two', names('a', 'b'), { isGone });
  await clock.advance(4 * beatMillis);
  expect([tables.heldBy('two').length, tables.marked]).toEqual([1, []]);
  expect([two.fleet.living, two.fleet.alone, two.fleet.leads]).toEqual([2, false, false]);
  // Its timers run on here, but its heartbeats no longer arrive.
  gone.add('one');
  await clock.advance(beatMillis);
  expect([tables.heldBy('two'), tables.marked]).toEqual([['a', 'b'], ['one']]);
  expect([...two.followed].sort()).toEqual(['a', 'b']);
  expect([two.fleet.living, two.fleet.alone, two.fleet.leads]).toEqual([1, true, true]);
});

test('a member is not known to be alone before its first heartbeat, and one that never joined does not leave', async () => {
  const { tables, clock } = fresh();
  const nothing = () => {};
  const fleet = createFleet({
    ...{ open: tables.open, member: 'one', sources: [], clock, logger: silentLogger, isGone: () => false },
    ...{ follow: nothing, leave: async () => {}, isBusy: () => false, spaced: () => [], onSpaced: nothing },
    ...{ onMessage: nothing, onLook: nothing, onLead: nothing },
  });
  expect(fleet.alone).toBe(false);
  await fleet.close();
  expect(tables.left).toEqual([]);
  const { fleet: joined } = await started(tables, clock, 'two', names('a'));
  expect(joined.alone).toBe(true);
  await joined.close();
  expect(tables.left).toEqual(['two']);
});

test('each heartbeat passes on the spaced sources of the others, and every third one looks for work', async () => {
  const { tables, clock } = fresh();
  const seen: (readonly SourceName[])[] = [];
  const looks: number[] = [];
  await started(tables, clock, 'two', names('a', 'b'), { spaced: () => names('b') });
  await started(tables, clock, 'one', names('a', 'b'), {
    spaced: () => names('a'),
    onSpaced: (sources) => void seen.push(sources),
    onLook: () => void looks.push(tables.beats),
  });
  expect([seen, looks.length]).toEqual([[['b']], 0]);
  await clock.advance(2 * beatMillis);
  expect(looks).toHaveLength(1);
  await clock.advance(3 * beatMillis);
  expect([new Set(seen.flat()), looks.length]).toEqual([new Set(names('b')), 2]);
  tables.ears.get('one')?.onGap();
  expect(looks).toHaveLength(3);
});

test('a message about members causes a heartbeat at once, any other one is passed on', async () => {
  const { tables, clock } = fresh();
  const messages: Message[] = [];
  await started(tables, clock, 'one', names('a'), { onMessage: (message) => void messages.push(message) });
  const ears = tables.ears.get('one');
  ears?.onMessage({ kind: 'committed' });
  await settled();
  expect([messages, tables.beats]).toEqual([[{ kind: 'committed' }], 1]);
  ears?.onMessage({ kind: 'members' });
  await settled();
  expect([messages.length, tables.beats]).toEqual([1, 2]);
});

test('a change of sources is announced to the others, and messages in a row are answered at leisure', async () => {
  const { tables, clock } = fresh();
  const { fleet } = await started(tables, clock, 'one', names('a'));
  const told: Message[] = [];
  tables.ears.set('two', { onMessage: (message) => void told.push(message), onGap: () => {} });
  fleet.setSources(names('a', 'b'));
  await settled();
  expect([told, tables.beats]).toEqual([[{ kind: 'members' }], 2]);
  let answer = () => {};
  tables.late.set('one', new Promise<void>((resolve) => (answer = resolve)));
  tables.ears.get('one')?.onMessage({ kind: 'members' });
  await clock.advance(500);
  tables.ears.get('one')?.onMessage({ kind: 'members' });
  answer();
  await clock.advance(999);
  expect(tables.beats).toBe(3);
  await clock.advance(1);
  expect(tables.beats).toBe(4);
});

test('the member that joined first leads, of two at one time the one whose name is first', async () => {
  for (const [ofOne, ofTwo, leads] of [
    ['2026-11-02', '2026-11-01', [false, true]],
    ['2026-11-01', '2026-11-02', [true, false]],
    ['2026-11-01', '2026-11-01', [true, false]],
  ] as const) {
    const { tables, clock } = fresh();
    tables.joinedAt.set('one', ofOne).set('two', ofTwo);
    const two = await started(tables, clock, 'two', names('a'));
    const one = await started(tables, clock, 'one', names('a'));
    await clock.advance(beatMillis);
    expect([one.fleet.leads, two.fleet.leads]).toEqual(leads);
  }
});

test('heartbeats that fail are logged once, and a member that the database refuses works nothing until it is admitted', async () => {
  const { tables, clock } = fresh();
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_, message) => void warnings.push(message) };
  const one = await started(tables, clock, 'one', names('a'), { logger });
  tables.silent.add('one');
  await clock.advance(3 * beatMillis);
  expect(warnings).toEqual(['the fleet database cannot be reached and will be retried']);
  expect([one.fleet.held, one.fleet.leads]).toEqual([1, true]);
  tables.silent.clear();
  await clock.advance(beatMillis);
  tables.fault = new Fault('database_unusable', 'a later version has migrated it');
  one.fleet.setSources(names('a', 'b'));
  await settled();
  expect(warnings.slice(1)).toEqual([
    'the database refuses this daemon, which follows no source until that changes',
  ]);
  expect([one.fleet.held, [...one.followed], one.fleet.leads, one.fleet.isLed]).toEqual([
    0,
    [],
    false,
    false,
  ]);
  await clock.advance(beatMillis);
  expect([[...one.followed].sort(), one.fleet.leads]).toEqual([['a', 'b'], true]);
});

test.each<[string, (tables: Tables) => unknown]>([
  ['its own heartbeat had expired', (tables) => tables.expired.add('one')],
  ['another member joined', (tables) => tables.members.set('new', names('a'))],
  ['a dead member left a source', (tables) => tables.silent.add('dead')],
  [
    'the database lists a source of it that it does not work',
    (tables) => tables.held.set('c' as never, 'one'),
  ],
])(
  'sources are shared out again with the next heartbeat when %s, otherwise with every third',
  async (_, change) => {
    const { tables, clock } = fresh();
    tables.members.set('dead', names('b'));
    tables.held.set('b' as SourceName, 'dead');
    await started(tables, clock, 'one', names('a'));
    await clock.advance(beatMillis);
    expect(tables.reads).toBe(1);
    change(tables);
    await clock.advance(beatMillis);
    expect(tables.reads).toBe(2);
  },
);

test('without a change, sources are shared out again with every third heartbeat', async () => {
  const { tables, clock } = fresh();
  await started(tables, clock, 'one', names('a'));
  const reads: number[] = [];
  for (let beat = 0; beat < 6; beat += 1) {
    await clock.advance(beatMillis);
    reads.push(tables.reads);
  }
  expect(reads).toEqual([1, 1, 2, 2, 2, 3]);
});
