import { describe, expect, test } from 'vitest';
import { isFault } from '../../src/domain/fault.js';
import type { EventId, SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import { type AcceptedEvent, ownLane } from '../../src/inbox/ports.js';
import { sqliteConnection } from '../../src/store/connection.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { Inbox } from '../../src/store/inbox.js';
import { readMirror } from '../../src/store/reads/read-mirror.js';
import { databases } from './support/databases.js';
import { freshMirror } from './support/mirror.js';

const at = (minute: number) => `2026-10-20T12:${String(minute).padStart(2, '0')}:00.000Z` as Instant;

const acme = ownLane('acme' as SourceName);

const event = (eventId: string, set: Partial<AcceptedEvent> = {}): AcceptedEvent => ({
  eventId: eventId as EventId,
  installation: 'inst_1',
  event: 'investment.changed',
  lane: acme,
  company: null,
  investment: 'inv_1',
  observedAt: null,
  test: false,
  receivedAt: at(0),
  body: '{"id":"evt"}',
  ...set,
});

describe.each(databases)('the inbox in $database', ({ open, database }) => {
  async function fresh() {
    const mirror = await open();
    return { mirror, inbox: new Inbox(mirror.connection, database === 'PostgreSQL') };
  }

  describe('accepting a webhook', () => {
    test('the inbox stores a delivery once per event and installation', async () => {
      const { inbox } = await fresh();
      expect(await inbox.accept(event('evt_1'))).toBe('stored');
      expect(await inbox.accept(event('evt_1'))).toBe('duplicate');
      expect(await inbox.accept(event('evt_1', { installation: 'inst_2' }))).toBe('stored');
      expect(await inbox.counts()).toEqual({ pending: 2, worked: 0, ignored: 0, given_up: 0 });
    });

    test('accept commits before it resolves: another connection sees the event', async () => {
      const { mirror, inbox } = await fresh();
      await inbox.accept(event('evt_1'));
      const seen = await readMirror(mirror.place, (db) =>
        db.selectFrom('webhook_inbox').select('event_id').execute(),
      );
      expect(seen).toEqual([{ event_id: 'evt_1' }]);
    });

    test('test events and events without a source are stored without a body and are never pending', async () => {
      const { mirror, inbox } = await fresh();
      await inbox.accept(event('evt_1', { test: true, lane: null }));
      await inbox.accept(event('evt_2', { lane: null }));
      expect(await inbox.counts()).toMatchObject({ pending: 0, ignored: 2 });
      expect(await mirror.rows('SELECT body FROM webhook_inbox')).toEqual([{ body: null }, { body: null }]);
    });
  });

  describe('processing accepted webhooks', () => {
    test('a burst is settled in one statement, and later events stay pending', async () => {
      const { mirror, inbox } = await fresh();
      for (const id of ['evt_1', 'evt_2', 'evt_3']) await inbox.accept(event(id));
      await inbox.accept(event('evt_4', { lane: ownLane('other' as SourceName) }));
      expect((await inbox.pending(acme, 0, 10)).map(({ no }) => no)).toEqual([1, 2, 3]);
      expect((await inbox.pending(acme, 1, 1)).map(({ no }) => no)).toEqual([2]);
      await inbox.settle([1, 2], 'worked', at(2));
      expect((await inbox.pending(acme, 0, 10)).map(({ no }) => no)).toEqual([3]);
      expect(await inbox.waiting()).toEqual([
        { lane: 'acme', events: 1, dueAt: at(0) },
        { lane: 'other', events: 1, dueAt: at(0) },
      ]);
      const [first] = await mirror.rows(
        'SELECT state, worked_at, body, attempts FROM webhook_inbox WHERE inbox_no = 1',
      );
      expect(first).toEqual({ state: 'worked', worked_at: at(2), body: null, attempts: 1 });
    });

    test('a postponed event has its next attempt time and counts the attempt', async () => {
      const { inbox } = await fresh();
      await inbox.accept(event('evt_1'));
      await inbox.retry([1], at(5));
      expect(await inbox.pending(acme, 0, 10)).toMatchObject([{ no: 1, attempts: 1, nextAt: at(5) }]);
      expect(await inbox.waiting()).toEqual([{ lane: 'acme', events: 1, dueAt: at(5) }]);
    });

    test('a settled event loses its body and cannot be settled again', async () => {
      const { inbox } = await fresh();
      await inbox.accept(event('evt_1'));
      await inbox.settle([1], 'given_up', at(1));
      await inbox.settle([1], 'worked', at(2));
      expect(await inbox.counts()).toEqual({ pending: 0, worked: 0, ignored: 0, given_up: 1 });
    });

    test('purging keeps pending and recently settled events, so that repeats are still detected', async () => {
      const { inbox } = await fresh();
      await inbox.accept(event('evt_old'));
      await inbox.accept(event('evt_new'));
      await inbox.accept(event('evt_pending'));
      await inbox.settle([1], 'worked', at(1));
      await inbox.settle([2], 'worked', at(9));
      expect(await inbox.purge(at(5))).toBe(1);
      expect(await inbox.accept(event('evt_new'))).toBe('duplicate');
      expect(await inbox.counts()).toMatchObject({ pending: 1, worked: 1 });
    });
  });

  test('settling an empty list does nothing', async () => {
    const { inbox } = await fresh();
    await inbox.accept(event('evt_1'));
    await inbox.settle([], 'worked', at(1));
    expect(await inbox.counts()).toMatchObject({ pending: 1 });
  });
});

test('a file locked by another program makes accept fail within the busy timeout', async () => {
  const mirror = freshMirror();
  const own = openSqlite(mirror.file, { busyTimeoutMs: 50 });
  mirror.raw.exec('BEGIN IMMEDIATE');
  const began = performance.now();
  await expect(new Inbox(sqliteConnection(own)).accept(event('evt_1'))).rejects.toSatisfy((error) =>
    isFault(error, 'database_busy'),
  );
  expect(performance.now() - began).toBeLessThan(1_500);
  mirror.raw.exec('ROLLBACK');
  own.close();
});
