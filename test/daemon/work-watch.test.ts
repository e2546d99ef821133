import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ForgottenLedger } from '../../src/daemon/forgotten-ledger.js';
import { openGatedInbox } from '../../src/daemon/gated-inbox.js';
import type { OpenMirror } from '../../src/daemon/mirror-parts.js';
import { openPostgresMirror } from '../../src/daemon/open-postgres-mirror.js';
import { WorkWatch } from '../../src/daemon/work-watch.js';
import { Fault } from '../../src/domain/fault.js';
import type { EventId, SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import { type AcceptedEvent, ownLane } from '../../src/inbox/ports.js';
import { systemClock } from '../../src/runtime/clock.js';
import { HealthRegister } from '../../src/runtime/health-register.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { freshMirror } from '../store/support/mirror.js';
import { tempFolder } from '../store/temp-folder.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const delivery: AcceptedEvent = {
  eventId: 'evt_1' as EventId,
  installation: 'inst_1',
  event: 'investment.changed',
  lane: ownLane('acme' as SourceName),
  company: null,
  investment: 'inv_1',
  observedAt: null,
  test: false,
  receivedAt: '2026-10-20T12:00:00.000Z' as Instant,
  body: 'x'.repeat(100_000),
};

function watchedInbox() {
  const { file } = freshMirror();
  const database = openSqlite(file);
  onTestFinished(() => database.close());
  const clock = new VirtualClock();
  const register = new HealthRegister();
  const { inbox, tryWrite } = openGatedInbox(database, clock, silentLogger);
  const watch = new WorkWatch({ register, clock, onAway: () => {}, onWorks: () => {} });
  const tables = { outbox: {}, budgets: {}, alerts: {}, afterSync: {}, pauses: {}, requests: {} };
  const others = { mirror: {}, dimensions: {}, ...tables, server: null, fleet: null };
  const rest = { ...others, inbox, tryWrite };
  const watched = watch.over(rest as unknown as OpenMirror);
  database.raw.exec('VACUUM');
  const limit = (pages: number) => database.raw.pragma(`max_page_count = ${pages}`);
  const fill = () => limit(Number(database.raw.pragma('page_count', { simple: true })));
  const rows = () => database.raw.prepare('SELECT count(*) FROM webhook_inbox').pluck().get();
  return { clock, register, watch, inbox: watched.inbox, fill, empty: () => limit(1_000_000), rows, rest };
}

test('work watch: health is well again without a delivery or a tick, once the database takes writes', async () => {
  const { clock, register, inbox, fill, empty, rows } = watchedInbox();
  fill();
  await expect(inbox.accept(delivery)).rejects.toMatchObject({ code: 'database_full' });
  const ill = [expect.objectContaining({ key: 'inbox', severity: 'ill' })];
  expect(register.list()).toEqual(ill);
  await clock.advance(60_000);
  expect(register.list()).toEqual(ill);
  empty();
  await clock.advance(5_000);
  expect(register.list()).toEqual([]);
  // What was tried has left nothing, and nothing is tried any more.
  expect([rows(), clock.sleeping]).toEqual([0, 0]);
  fill();
  await expect(inbox.accept(delivery)).rejects.toMatchObject({ code: 'database_full' });
  expect(register.list()).toEqual(ill);
  empty();
  await clock.advance(5_000);
  expect(register.list()).toEqual([]);
});

test('work watch: a write that is tried says nothing of a table that is damaged', async () => {
  const { clock, register, watch, fill, empty, rest } = watchedInbox();
  let isDamaged = true;
  const waiting = async () => {
    if (isDamaged) throw new Fault('database_unusable', 'the file is damaged');
    return [];
  };
  const { inbox, outbox } = watch.over({ ...rest, outbox: { waiting } } as unknown as OpenMirror);
  await expect(outbox.waiting()).rejects.toMatchObject({ code: 'database_unusable' });
  fill();
  await expect(inbox.accept(delivery)).rejects.toMatchObject({ code: 'database_full' });
  empty();
  await clock.advance(60_000);
  expect(register.list()).toEqual([expect.objectContaining({ key: 'outbox', severity: 'ill' })]);
  expect(clock.sleeping).toBe(0);
  isDamaged = false;
  await outbox.waiting();
  expect(register.list()).toEqual([]);
});

test('work watch: a problem that a person has to end says what to do', async () => {
  const { register, watch, rest } = watchedInbox();
  const about = { hint: 'GRANT it' };
  const waiting = async () => {
    throw new Fault('database_unusable', 'it lacks SELECT', about);
  };
  const { outbox } = watch.over({ ...rest, outbox: { waiting } } as unknown as OpenMirror);
  await outbox.waiting().catch(() => {});
  watch.heartbeat(new Fault('database_busy', 'the password is refused', { ...about, lasting: true }));
  expect(register.list().map(({ text }) => text)).toEqual([
    'notices cannot be read or settled: it lacks SELECT (GRANT it)',
    'this daemon cannot take part in its fleet: the password is refused (GRANT it)',
  ]);
  watch.heartbeat(new Fault('database_busy', 'the server starts', { hint: 'wait' }));
  expect(register.list().at(-1)?.text).toBe('this daemon cannot take part in its fleet: the server starts');
});

test.each([
  ['alerts', 'open', 'alerts cannot be read or settled: it lacks SELECT', 'alerts'],
  ['afterSync', 'state', 'after-sync hooks cannot be read or settled: it lacks SELECT', 'hooks'],
  ['pauses', 'list', 'pauses cannot be read: it lacks SELECT', 'pauses'],
  ['requests', 'list', 'what operators ask for cannot be read: it lacks SELECT', 'requests'],
])(
  'work watch: a table of %s that cannot be used makes health ill until it can, and a database that is away does not',
  async (table, call, text, key) => {
    const { register, watch, rest } = watchedInbox();
    let error: Error | null = null;
    const read = async () => {
      if (error !== null) throw error;
    };
    const watched = watch.over({ ...rest, [table]: { [call]: read } } as unknown as OpenMirror);
    const look = () => (watched as unknown as Record<string, Record<string, typeof read>>)[table]?.[call]?.();
    error = new Fault('database_busy', 'the server is away');
    await expect(look()).rejects.toBe(error);
    expect(register.list()).toEqual([]);
    error = new Fault('database_unusable', 'it lacks SELECT');
    await expect(look()).rejects.toBe(error);
    watch.heartbeat(null);
    expect(register.list()).toMatchObject([{ key, severity: 'ill', text }]);
    error = null;
    await look();
    expect(register.list()).toEqual([]);
  },
);

test('work watch: a heartbeat says nothing of a table that is damaged, and ends what was refused with it', async () => {
  const { clock, register, watch, rest } = watchedInbox();
  const fail = async () => {
    throw new Fault('database_unusable', 'the server has a damaged table');
  };
  const inbox = { accept: fail };
  const watched = watch.over({
    ...rest,
    inbox,
    outbox: { waiting: fail },
    tryWrite: fail,
  } as unknown as OpenMirror);
  const keys = () => register.list().map(({ key }) => key);
  await expect(watched.outbox.waiting()).rejects.toMatchObject({ code: 'database_unusable' });
  await expect(watched.inbox.accept(delivery)).rejects.toMatchObject({ code: 'database_unusable' });
  await clock.advance(2_000);
  watch.heartbeat(null);
  expect(keys()).toEqual(['outbox', 'inbox']);
  watch.heartbeat(new Fault('database_unusable', 'the server refuses the password'));
  expect(keys()).toEqual(['outbox', 'inbox', 'fleet']);
  watch.heartbeat(null);
  expect(keys()).toEqual([]);
});

test.each([
  ['an error that is no fault', new TypeError('ada@people.example is not iterable'), 'the log has the cause'],
  [
    'a fault of something else',
    new Fault('out_of_descriptors', 'too many open files'),
    'too many open files',
  ],
])('work watch: a delivery refused by %s makes health ill until one is stored', async (_, error, why) => {
  const { clock, register, watch, inbox, rest } = watchedInbox();
  const accept = async () => {
    throw error;
  };
  const { inbox: failing } = watch.over({ ...rest, inbox: { accept } } as unknown as OpenMirror);
  await expect(failing.accept(delivery)).rejects.toBe(error);
  const ill = [
    expect.objectContaining({ key: 'inbox', severity: 'ill', text: `webhooks cannot be stored: ${why}` }),
  ];
  expect(register.list()).toEqual(ill);
  // Neither other writes nor one that is tried show that the cause is gone.
  await clock.advance(60_000);
  watch.heartbeat(null);
  expect([register.list(), clock.sleeping]).toEqual([ill, 0]);
  await inbox.accept(delivery);
  expect(register.list()).toEqual([]);
});

test('work watch: on PostgreSQL, too, health is well again without a delivery or a tick', async () => {
  const { url } = await migratedDatabase();
  const mirror = await openPostgresMirror(
    { kind: 'postgres', url, password: null },
    {
      clock: systemClock,
      logger: silentLogger,
      identity: 'keep',
      ledger: new ForgottenLedger(join(tempFolder(), 'forgotten.jsonl')),
    },
    50,
  );
  onTestFinished(() => mirror.close());
  const clock = new VirtualClock();
  const register = new HealthRegister();
  const watch = new WorkWatch({ register, clock, onAway: () => {}, onWorks: () => {} });
  const { inbox } = watch.over(mirror);
  await withClient(url, (client) =>
    client.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'damaged' USING ERRCODE = 'XX002'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON rosterd_identity.webhook_inbox FOR EACH ROW EXECUTE FUNCTION refuse()`),
  );
  await expect(inbox.accept(delivery)).rejects.toMatchObject({ code: 'database_unusable' });
  await clock.advance(5_000);
  await expect.poll(() => clock.sleeping).toBe(1);
  watch.heartbeat(null);
  expect(register.list()).toMatchObject([{ key: 'inbox', severity: 'ill' }]);
  await withClient(url, (client) => client.query('DROP FUNCTION refuse CASCADE'));
  await clock.advance(5_000);
  await expect.poll(() => register.list()).toEqual([]);
  const { pending, ignored } = await inbox.counts();
  expect([pending, ignored, clock.sleeping]).toEqual([0, 0, 0]);
  // What a delivery would wait for is not waited for longer than a delivery may take.
  await withClient(url, async (client) => {
    await client.query('BEGIN; LOCK TABLE rosterd_identity.webhook_inbox IN SHARE MODE; LOCK TABLE budgets');
    const refused = (why: string) => ({ code: 'database_busy', message: expect.stringContaining(why) });
    await expect(mirror.tryWrite()).rejects.toMatchObject(refused('took too long'));
    // A tick would wait for its budget for as long as another program has the lock.
    await expect(mirror.budgets.load('key')).rejects.toMatchObject(refused('did not grant a lock in time'));
  });
});

test('work watch: a closed watch tries no write, and what it knew stays', async () => {
  const { clock, register, watch, inbox, fill, empty } = watchedInbox();
  fill();
  await expect(inbox.accept(delivery)).rejects.toMatchObject({ code: 'database_full' });
  await watch.close();
  empty();
  await clock.advance(60_000);
  expect([register.list().length, clock.sleeping]).toEqual([1, 0]);
});
