import { mkdirSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openGatedInbox } from '../../src/daemon/gated-inbox.js';
import type { EventId, SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import { type AcceptedEvent, ownLane } from '../../src/inbox/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { processName } from '../../src/runtime/process-identity.js';
import { deliveryRow } from '../../src/store/delivery-row.js';
import { DeliveryJournal } from '../../src/store/dialect/sqlite/delivery-journal.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { sqliteInbox } from '../../src/store/inbox.js';
import { freshMirror } from '../store/support/mirror.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const event = (eventId: string): AcceptedEvent => ({
  eventId: eventId as EventId,
  installation: 'inst_1',
  event: 'investment.changed',
  lane: ownLane('acme' as SourceName),
  company: null,
  investment: 'inv_1',
  observedAt: null,
  test: false,
  receivedAt: '2026-10-20T12:00:00.000Z' as Instant,
  body: '{"id":"evt"}',
});

function gatedInbox() {
  const mirror = freshMirror();
  const clock = new VirtualClock();
  const open = () => {
    const database = openSqlite(mirror.file);
    onTestFinished(() => database.close());
    return openGatedInbox(database, clock, silentLogger);
  };
  const ids = () => mirror.raw.prepare('SELECT event_id FROM webhook_inbox ORDER BY inbox_no').pluck().all();
  const journals = () => readdirSync(dirname(mirror.file)).filter((name) => name.includes('-deliveries-'));
  return { mirror, clock, open, ids, journals };
}

/** Closes the gate while another connection holds the write lock, as a child process that builds an index does. */
function locked(gate: ReturnType<typeof openGatedInbox>['gate'], raw: ReturnType<typeof freshMirror>['raw']) {
  raw.exec('BEGIN IMMEDIATE');
  let unlock = () => {};
  const work = gate.closedFor('rewrite', async () => {
    await new Promise<void>((resolve) => {
      unlock = resolve;
    });
    raw.exec('COMMIT');
  });
  return async () => {
    unlock();
    await work;
  };
}

test('gated inbox: deliveries are accepted while the database is locked, and in the inbox before its other calls', async () => {
  const { mirror, open, ids, journals } = gatedInbox();
  const { gate, inbox } = open();
  await inbox.accept(event('evt_1'));
  const unlock = locked(gate, mirror.raw);
  expect(await Promise.all([inbox.accept(event('evt_2')), inbox.accept(event('evt_1'))])).toEqual([
    'stored',
    'stored',
  ]);
  expect(await inbox.accept(event('evt_3'))).toBe('stored');
  expect(ids()).toEqual(['evt_1']);
  expect(journals()).toHaveLength(1);
  const counting = inbox.counts();
  await unlock();
  expect(await counting).toMatchObject({ pending: 3 });
  expect(ids()).toEqual(['evt_1', 'evt_2', 'evt_3']);
  expect(journals()).toEqual([]);
  expect(await inbox.accept(event('evt_3'))).toBe('duplicate');
});

test('gated inbox: deliveries are accepted while another program has the write lock, and in the inbox when it is free', async () => {
  const { mirror, clock, open, ids, journals } = gatedInbox();
  const { gate, inbox } = open();
  mirror.raw.exec('BEGIN IMMEDIATE');
  expect(await inbox.accept(event('evt_1'))).toBe('stored');
  expect(gate.waits).toMatchObject([{ key: 'lock' }]);
  await clock.advance(60_000);
  expect(await Promise.all([inbox.accept(event('evt_2')), inbox.accept(event('evt_3'))])).toEqual([
    'stored',
    'stored',
  ]);
  expect(ids()).toEqual([]);
  const counting = inbox.counts();
  mirror.raw.exec('COMMIT');
  await clock.advance(100);
  expect(await counting).toMatchObject({ pending: 3 });
  expect(ids()).toEqual(['evt_1', 'evt_2', 'evt_3']);
  expect(journals()).toEqual([]);
  expect(gate.isClosed).toBe(false);
});

test('gated inbox: a call that met the lock of another program is repeated, although another call wrote meanwhile', async () => {
  const { mirror, clock, open } = gatedInbox();
  const { gate, inbox } = open();
  mirror.raw.exec('BEGIN IMMEDIATE');
  let attempts = 0;
  const writer = gate.guard({
    purge: async () => {
      attempts += 1;
      try {
        return await inboxBehind.purge('2026-10-20T12:00:00.000Z' as Instant);
      } finally {
        if (attempts === 1) {
          mirror.raw.exec('COMMIT');
          await inbox.accept(event('evt_1'));
        }
      }
    },
  });
  const own = openSqlite(mirror.file, { busyTimeoutMs: 0 });
  onTestFinished(() => own.close());
  const inboxBehind = sqliteInbox(own);
  const purging = writer.purge();
  await vi.waitFor(() => expect(attempts).toBe(1));
  await clock.advance(100);
  expect(await purging).toBe(0);
  expect(attempts).toBe(2);
});

test('gated inbox: what was accepted while another program had the write lock outlives a stop before it is free', async () => {
  const { mirror, open, ids, journals } = gatedInbox();
  const { inbox, close } = open();
  mirror.raw.exec('BEGIN IMMEDIATE');
  await inbox.accept(event('evt_1'));
  await close();
  expect(journals()).toHaveLength(1);
  mirror.raw.exec('COMMIT');
  open();
  expect(ids()).toEqual(['evt_1']);
  expect(journals()).toEqual([]);
});

test('gated inbox: a call after it was closed under the lock of another program reports what the call itself meets', async () => {
  const { mirror, clock } = gatedInbox();
  const database = openSqlite(mirror.file);
  const { gate, inbox, close } = openGatedInbox(database, clock, silentLogger);
  mirror.raw.exec('BEGIN IMMEDIATE');
  await inbox.accept(event('evt_1'));
  await close();
  database.close();
  mirror.raw.exec('COMMIT');
  expect(await gate.passing(async () => 'nothing to write')).toBe('nothing to write');
});

test('gated inbox: without a journal, a delivery waits for the gate, and fails after five seconds', async () => {
  const { mirror, clock, open, ids } = gatedInbox();
  mkdirSync(`${mirror.file}-deliveries-${encodeURIComponent(processName())}`);
  const { gate, inbox } = open();
  const unlock = locked(gate, mirror.raw);
  const late = expect(inbox.accept(event('evt_1'))).rejects.toMatchObject({ code: 'database_busy' });
  // The commit of the first delivery begins in the next turn, and a second one waits for that commit.
  await new Promise(setImmediate);
  await clock.advance(5_000);
  await late;
  const waiting = inbox.accept(event('evt_2'));
  await new Promise(setImmediate);
  await unlock();
  expect(await waiting).toBe('stored');
  expect(ids()).toEqual(['evt_2']);
});

test('gated inbox: opening it recovers the deliveries of a process that was killed', async () => {
  const { mirror, open, ids, journals } = gatedInbox();
  const killed = processName().replace(/^(.+:\d+:)\d+\./, '$11.');
  new DeliveryJournal(mirror.file, () => {}, killed).append([deliveryRow(event('evt_1'))]);
  expect(journals()).toEqual([`${basename(mirror.file)}-deliveries-${encodeURIComponent(killed)}`]);
  open();
  expect(ids()).toEqual(['evt_1']);
  expect(journals()).toEqual([]);
});

test('gated inbox: deliveries that cannot be moved when the gate opens are moved later', async () => {
  const { mirror, clock, open, ids, journals } = gatedInbox();
  const { gate, inbox } = open();
  const unlock = locked(gate, mirror.raw);
  await inbox.accept(event('evt_1'));
  mirror.raw.exec('ALTER TABLE webhook_inbox RENAME TO inbox_elsewhere; COMMIT; BEGIN');
  await unlock();
  expect(journals()).toHaveLength(1);
  await clock.advance(1_000);
  expect(journals()).toHaveLength(1);
  mirror.raw.exec('ALTER TABLE inbox_elsewhere RENAME TO webhook_inbox');
  await clock.advance(1_000);
  expect(ids()).toEqual(['evt_1']);
  expect(journals()).toEqual([]);
});

test('gated inbox: closing it moves what is left in the journal', async () => {
  const { mirror, open, ids } = gatedInbox();
  const { gate, inbox, close } = open();
  const unlock = locked(gate, mirror.raw);
  await inbox.accept(event('evt_1'));
  mirror.raw.exec('COMMIT');
  mirror.raw.exec('BEGIN');
  await close();
  expect(ids()).toEqual(['evt_1']);
  await unlock();
});

/** Until `restore`, no delivery can be stored. */
function broken({ raw }: ReturnType<typeof freshMirror>) {
  raw.exec('ALTER TABLE webhook_inbox RENAME TO inbox_elsewhere');
  return () => raw.exec('ALTER TABLE inbox_elsewhere RENAME TO webhook_inbox');
}

test('gated inbox: deliveries that could not be moved when it closed are recovered when this process opens it again', async () => {
  const { mirror, open, ids, journals } = gatedInbox();
  const { gate, inbox, close } = open();
  const unlock = locked(gate, mirror.raw);
  await inbox.accept(event('evt_1'));
  mirror.raw.exec('COMMIT');
  const restore = broken(mirror);
  mirror.raw.exec('BEGIN');
  await unlock();
  await close();
  expect(journals()).toHaveLength(1);

  // As after a reload that happens while the database cannot store anything.
  const { gate: second, inbox: next, close: closeNext } = open();
  const unlockNext = locked(second, mirror.raw);
  await next.accept(event('evt_2'));
  mirror.raw.exec('COMMIT');
  restore();
  mirror.raw.exec('BEGIN');
  await unlockNext();
  await closeNext();
  expect(ids()).toEqual(['evt_2']);
  open();
  expect(ids()).toEqual(['evt_2', 'evt_1']);
  expect(journals()).toEqual([]);
});

test('gated inbox: deliveries of an earlier process that cannot be moved at the start are moved later', async () => {
  const { mirror, clock, open, ids, journals } = gatedInbox();
  const killed = processName().replace(/^(.+:\d+:)\d+\./, '$11.');
  new DeliveryJournal(mirror.file, () => {}, killed).append([deliveryRow(event('evt_1'))]);
  const restore = broken(mirror);
  const { close } = open();
  await clock.advance(5_000);
  expect(journals()).toHaveLength(1);
  restore();
  await clock.advance(1_000);
  expect(ids()).toEqual(['evt_1']);
  expect(journals()).toEqual([]);
  await close();
});
