import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isFault } from '../../src/domain/fault.js';
import type { EventId, SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import { type AcceptedEvent, everyLane, laneOf, ownLane } from '../../src/inbox/ports.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { sqliteInbox } from '../../src/store/inbox.js';
import { readMirror } from '../../src/store/reads/read-mirror.js';
import { databases } from './support/databases.js';
import { freshMirror } from './support/mirror.js';

const at = (minute: number) => `2026-10-20T12:${String(minute).padStart(2, '0')}:00.000Z` as Instant;

const acme = ownLane('acme' as SourceName);

const digest = (n: number) => createHash('sha256').update(String(n)).digest('hex');

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

describe.each(databases)('the inbox in $database', ({ open }) => {
  async function fresh() {
    const mirror = await open();
    return { mirror, inbox: mirror.inbox };
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

    test('an event that concerns hundreds of sources is stored, and pending for all of them', async () => {
      const { inbox } = await fresh();
      const names = Array.from({ length: 300 }, (_, n) => digest(n).slice(0, 40) as SourceName);
      expect(await inbox.accept(event('evt_1', { lane: laneOf(names) }))).toBe('stored');
      expect(await inbox.waiting()).toMatchObject([{ lane: everyLane, events: 1 }]);
      // As many of the longest names as fit.
      const longest = Array.from({ length: 31 }, (_, n) => digest(n).slice(0, 63) as SourceName);
      expect(await inbox.accept(event('evt_2', { lane: laneOf(longest) }))).toBe('stored');
      expect((await inbox.waiting()).map(({ lane }) => lane)).toContain([...longest].sort().join(','));
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

  describe('deliveries that arrive together', () => {
    test('deliveries that arrive together are numbered in the order of arrival', async () => {
      const { mirror, inbox } = await fresh();
      const ids = Array.from(
        { length: 40 },
        (_, at) => `evt_${String.fromCharCode(97 + ((at * 7) % 26))}${at}`,
      );
      expect(await Promise.all(ids.map((id) => inbox.accept(event(id))))).toEqual(ids.map(() => 'stored'));
      const rows = await mirror.rows('SELECT inbox_no, event_id FROM webhook_inbox ORDER BY inbox_no');
      expect(rows.map((row) => row.event_id)).toEqual(ids);
    });

    test('of equal deliveries that arrive together the first is stored and the others are duplicates', async () => {
      const { inbox } = await fresh();
      await inbox.accept(event('evt_known'));
      const together = ['evt_1', 'evt_known', 'evt_1', 'evt_2'].map((id) => inbox.accept(event(id)));
      together.push(inbox.accept(event('evt_1', { installation: 'inst_2' })));
      expect(await Promise.all(together)).toEqual(['stored', 'duplicate', 'duplicate', 'stored', 'stored']);
      expect(await inbox.counts()).toMatchObject({ pending: 4 });
    });

    test('deliveries that arrive together keep every value as one that arrives alone', async () => {
      const { mirror, inbox } = await fresh();
      const given = [
        event('evt_1', { observedAt: at(3), investment: 'inv_9' as never, body: '{"a":"é\\"\\u0000,{}"}' }),
        event('evt_2', { lane: null, test: true, investment: null, installation: '' }),
      ];
      for (const one of given) await inbox.accept({ ...one, eventId: `${one.eventId}_alone` as EventId });
      await Promise.all(given.map((one) => inbox.accept(one)));
      const [first, second, third, fourth] = (
        await mirror.rows('SELECT * FROM webhook_inbox ORDER BY inbox_no')
      ).map(({ inbox_no: _, event_id: __, ...others }) => others);
      expect([third, fourth]).toEqual([first, second]);
    });

    test.each(['one statement', 'the transaction'])(
      'a delivery that makes %s fail does not fail those that arrive with it',
      async (extent) => {
        const { mirror, inbox } = await fresh();
        await mirror.refuseEvent('evt_poison', extent === 'the transaction');
        const ids = ['evt_1', 'evt_poison', 'evt_2'];
        const answers = await Promise.allSettled(ids.map((id) => inbox.accept(event(id))));
        expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
        const rows = await mirror.rows('SELECT event_id FROM webhook_inbox ORDER BY inbox_no');
        expect(rows.map((row) => row.event_id)).toEqual(['evt_1', 'evt_2']);
      },
    );
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
  await expect(sqliteInbox(own).accept(event('evt_1'))).rejects.toSatisfy((error) =>
    isFault(error, 'database_busy'),
  );
  mirror.raw.exec('ROLLBACK');
  own.close();
});

test('on SQLite, deliveries that arrive together are one durable commit, and a lone one needs no BEGIN', async () => {
  const mirror = freshMirror();
  const own = openSqlite(mirror.file);
  onTestFinished(() => own.close());
  const commits: unknown[] = [];
  const { exec } = own.raw;
  own.raw.exec = (sql) => {
    if (sql === 'COMMIT') commits.push(own.raw.pragma('synchronous', { simple: true }));
    return exec.call(own.raw, sql);
  };
  const inbox = sqliteInbox(own);
  await Promise.all(['evt_1', 'evt_2', 'evt_3'].map((id) => inbox.accept(event(id))));
  expect(commits).toEqual([2]);
  await inbox.accept(event('evt_4'));
  expect(commits).toEqual([2]);
});

test('on SQLite, settling and retrying prepare their statements once, for any number of events', async () => {
  const mirror = freshMirror();
  const own = openSqlite(mirror.file);
  onTestFinished(() => own.close());
  const inbox = sqliteInbox(own);
  const ids = [1, 2, 3, 4, 5, 6, 7];
  for (const id of ids) await inbox.accept(event(`evt_${id}`));
  const prepared: string[] = [];
  const { prepare } = own.raw;
  own.raw.prepare = ((text: string) => {
    if (text.startsWith('update')) prepared.push(text);
    return prepare.call(own.raw, text);
  }) as typeof prepare;
  await inbox.settle([1], 'worked', at(2));
  await inbox.settle([2, 3], 'given_up', at(3));
  await inbox.retry([4], at(60));
  await inbox.retry([5, 6], at(90));
  expect(prepared).toHaveLength(2);
  const rows = own.raw.prepare(
    'SELECT state, worked_at, next_at, body IS NULL AS cut, attempts FROM webhook_inbox',
  );
  expect(rows.raw().all()).toEqual([
    ['worked', at(2), null, 1, 1],
    ['given_up', at(3), null, 1, 1],
    ['given_up', at(3), null, 1, 1],
    ['pending', null, at(60), 0, 1],
    ['pending', null, at(90), 0, 1],
    ['pending', null, at(90), 0, 1],
    ['pending', null, null, 0, 0],
  ]);
});

test('on SQLite, settling does not wait for the disk, and the next delivery does', async () => {
  const mirror = freshMirror();
  const own = openSqlite(mirror.file);
  onTestFinished(() => own.close());
  const seen: string[] = [];
  own.raw.function('seen', (step) => void seen.push(String(step)));
  own.raw.exec(
    "CREATE TEMP TRIGGER stored AFTER INSERT ON webhook_inbox BEGIN SELECT seen('stored'); END;" +
      "CREATE TEMP TRIGGER settled AFTER UPDATE ON webhook_inbox BEGIN SELECT seen('settled'); END;",
  );
  const { exec } = own.raw;
  own.raw.exec = (sql) => {
    if (sql.startsWith('PRAGMA synchronous')) seen.push(sql.slice(-6).trim());
    return exec.call(own.raw, sql);
  };
  const inbox = sqliteInbox(own);
  await inbox.accept(event('evt_1'));
  await inbox.settle([1], 'worked', at(1));
  await inbox.accept(event('evt_2'));
  expect(own.raw.pragma('synchronous', { simple: true })).toBe(2);
  expect(seen).toEqual(['stored', 'NORMAL', 'settled', '= FULL', 'stored']);
});
