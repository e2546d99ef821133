import { expect } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import type { Cursor } from '../../src/domain/position.js';
import { postgresInbox, sqliteInbox } from '../../src/store/inbox.js';
import { nothingApplied, type TickReport } from '../../src/sync/ports.js';
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

test('a page with more pages after it moves the cursor but not published_through', async () => {
  const fixture = await mirrorFixture();
  const { mirror, lease, list } = fixture;
  await list([[record('inv_1')]]);
  const before = [{ published_through: '2026-01-31T00:00:00.000Z' }];
  expect(await readThrough(fixture)).toEqual(before);
  const reached = (cursor: string) => ({ kind: 'following', cursor: cursor as Cursor }) as const;
  await mirror.applyPage(lease, deltaPage([record('inv_2')], 'c1', true), reached('c1'));
  expect(await readThrough(fixture)).toEqual(before);
  await mirror.applyPage(lease, deltaPage([record('inv_3')], 'c2'), reached('c2'));
  expect(await readThrough(fixture)).toEqual([{ published_through: '2026-02-28T00:00:00.000Z' }]);
});
