import { expect } from 'vitest';
import type { EventId, SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import type { Cursor } from '../../src/domain/position.js';
import { createDrain } from '../../src/inbox/drain.js';
import { type Lane, laneOf, type Ticked } from '../../src/inbox/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { postgresInbox, sqliteInbox } from '../../src/store/inbox.js';
import { nothingApplied, type TickReport } from '../../src/sync/ports.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import { test } from './both-databases.js';
import { type Fixture, mirrorFixture, type Store } from './mirror-fixture.js';
import { acme, deltaPage, record, tickReport } from './samples.js';

const inboxOn = (store: Store) =>
  store.kind === 'sqlite' ? sqliteInbox(store.sqlite) : postgresInbox(store.postgres);

const startedAt = '2026-04-30T23:00:00.000Z' as Instant;

const report = (more: Partial<TickReport> = {}) =>
  tickReport({ startedAt, applied: { ...nothingApplied, unchanged: 1 }, ...more });

const readThrough = ({ rows }: Fixture) => rows('SELECT published_through FROM sources');

test('proofOf returns the last tick that read its source to the end', async () => {
  const fixture = await mirrorFixture();
  const { mirror, lease, list, delta } = fixture;
  const inbox = inboxOn(fixture.store);
  expect(await inbox.proofOf(acme.name)).toBeNull();
  expect(await inbox.proofOf('nobody' as SourceName)).toBeNull();
  await list([[record('inv_1')]]);
  await delta([record('inv_2')]);
  await mirror.recordTick(lease, report({ outcome: 'stopped', code: 'stopped' }), null);
  expect(await inbox.proofOf(acme.name)).toBeNull();
  await mirror.recordTick(lease, report(), null);
  const later = '2026-05-01T02:00:00.000Z' as Instant;
  await mirror.recordTick(lease, report({ startedAt: later, outcome: 'failed', code: 'unreachable' }), null);
  expect(await inbox.proofOf(acme.name)).toEqual({
    startedAt,
    publishedThrough: '2026-02-28T00:00:00.000Z',
  });
});

test('a webhook of two daemons is not worked when one of them reads single records again, only after its tick', async () => {
  const { store, rows, mirror, lease, list } = await mirrorFixture();
  const inbox = inboxOn(store);
  const at = (time: string) => `2026-05-01T${time}:00.000Z` as Instant;
  const sources = [acme.name, 'beta' as SourceName];
  const lane = laneOf(sources) as Lane;
  await list([[record('inv_1')]]);
  await mirror.recordTick(lease, report({ startedAt: at('10:00') }), null);
  await inbox.accept({
    ...{ eventId: 'evt_1' as EventId, installation: '', event: 'investment.changed', test: false },
    ...{ company: null, investment: null, observedAt: null, receivedAt: at('10:05'), lane, body: '{}' },
  });
  /** The daemon that works only the other source ticks it and settles what is proven. */
  const settled = async () => {
    const clock = new VirtualClock(Date.parse(at('11:00')));
    let end: (source: SourceName, tick: Ticked) => void = () => {};
    const onTick = (listener: typeof end) => {
      end = listener;
      return () => {};
    };
    const others = {
      worksHere: (source: SourceName) => source === 'beta',
      alone: () => false,
      announceAccepted: () => {},
      announceTicked: () => {},
    };
    const ticks = { nudge: () => {}, onTick };
    const drain = createDrain({ inbox, clock, logger: silentLogger, sources, ticks, others });
    drain.heardAccepted(lane);
    end('beta' as SourceName, { done: true, startedAt: at('10:50'), publishedThrough: null });
    await drain.close();
    return await rows('SELECT state FROM webhook_inbox');
  };
  await mirror.recordTick(lease, report({ startedAt: at('10:10'), mode: 'none' }), null);
  expect(await settled()).toEqual([{ state: 'pending' }]);
  await mirror.recordTick(lease, report({ startedAt: at('10:20') }), null);
  expect(await settled()).toEqual([{ state: 'worked' }]);
});

test('a page with more pages after it moves the cursor but not published_through', async () => {
  const fixture = await mirrorFixture();
  const { mirror, lease, list } = fixture;
  await list([[record('inv_1')]]);
  const before = [{ published_through: '2026-01-31T00:00:00.000Z' }];
  expect(await readThrough(fixture)).toEqual(before);
  const reached = (cursor: string) => ({ kind: 'following', cursor: cursor as Cursor }) as const;
  await mirror.applyPage(lease, deltaPage([record('inv_2')], 'c1', true), reached('c1'));
  expect(await readThrough(fixture)).toEqual(before);
  await mirror.applyPage(lease, { ...deltaPage([], 'c2'), publishedThrough: null }, reached('c2'));
  expect(await readThrough(fixture), 'a platform that names no time').toEqual(before);
  await mirror.applyPage(lease, deltaPage([record('inv_3')], 'c2'), reached('c2'));
  expect(await readThrough(fixture)).toEqual([{ published_through: '2026-02-28T00:00:00.000Z' }]);
});
