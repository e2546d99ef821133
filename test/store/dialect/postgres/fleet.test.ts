import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { EventId, SourceName } from '../../../../src/domain/ids.js';
import type { Instant } from '../../../../src/domain/instant.js';
import type { Cursor } from '../../../../src/domain/position.js';
import type { Message } from '../../../../src/fleet/ports.js';
import { createDrain } from '../../../../src/inbox/drain.js';
import { type Lane, ownLane, type Ticked } from '../../../../src/inbox/ports.js';
import { silentLogger } from '../../../../src/runtime/logger.js';
import { PostgresFleet } from '../../../../src/store/dialect/postgres/fleet.js';
import { PostgresMirror } from '../../../../src/store/dialect/postgres/mirror.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { postgresInbox } from '../../../../src/store/inbox.js';
import { type FreshDatabase, migratedDatabase } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';
import { stopHeartbeatClock } from '../../../postgres/stop-heartbeat-clock.js';
import { cautious, SteppingClock } from '../../mirror-fixture.js';
import { acme, deltaPage, listingPage } from '../../samples.js';

const sources = ['acme', 'beta', 'gamma'] as SourceName[];

let fresh: FreshDatabase;
let database: PostgresDatabase;
let received: Message[];
const fleets: PostgresFleet[] = [];

beforeEach(async () => {
  fresh = await migratedDatabase();
  database = await openPostgres(fresh.url);
  await stopHeartbeatClock(database.pool);
  received = [];
});

afterEach(async () => {
  await Promise.all(fleets.splice(0).map((fleet) => fleet.close()));
  await database.close();
  await fresh.drop();
});

async function member(
  name: string,
  gaps: string[] = [],
  onMessage = (message: Message) => void received.push(message),
): Promise<PostgresFleet> {
  const ears = {
    onMessage,
    onGap: () => void gaps.push(name),
  };
  const fleet = new PostgresFleet(name, { server: fresh.url, database, version: '0.0.0-test' }, ears);
  fleets.push(fleet);
  await fleet.join(sources);
  return fleet;
}

/** Makes a member look as if its last heartbeat was this long ago. */
const silence = (name: string, millis: number) =>
  database.pool.query('UPDATE fleet_members SET seen_at = fleet_clock($2) WHERE member = $1', [name, millis]);

const channel = () => `rosterd_${database.schema}`;

/** Invalid messages, senders and parts of messages. */
const garbage: readonly string[] = [
  ...['', ' ', '{', 'null', '0', '"members"', '[]', '[{"kind":"members","from":"x"}]', '['.repeat(7_000)],
  ...['{"__proto__":{"kind":"members","from":"x"}}', '{"kind":"members"}', '{"kind":"members","from":7}'],
  ...[
    '{"from":"x"}',
    '{"kind":null,"from":"x"}',
    '{"kind":"toString","from":"x"}',
    '{"kind":["members"],"from":"x"}',
  ],
  ...[
    null,
    7,
    'acme',
    {},
    [null],
    [7],
    [['acme']],
    [''],
    ['acme,'],
    ['a b'],
    Array(101).fill('acme'),
  ].flatMap((names) => [
    JSON.stringify({ kind: 'accepted', from: 'x', lanes: names }),
    JSON.stringify({ kind: 'recheck', from: 'x', sources: names }),
  ]),
  ...[undefined, null, 7, '', 'a b', 'acme,beta', ['acme'], { length: 1 }].map((source) =>
    JSON.stringify({ kind: 'ticked', from: 'x', source }),
  ),
];

const mirror = () => new PostgresMirror(database, { clock: new SteppingClock(), leaseMs: 30_000 });

describe('members', () => {
  test('members claim only sources without a living holder, and no source is claimed twice', async () => {
    const [one, two] = [await member('one'), await member('two')];
    const taken = await Promise.all([one.take(sources), two.take([...sources].reverse())]);
    expect(taken.flat().sort()).toEqual(sources);
    expect(await one.take(sources)).toEqual([]);
    await silence('two', 9_000);
    expect((await one.take(sources)).length).toBe(taken[1]?.length);
    expect([...(await one.holdings()).held.values()]).toEqual(['one', 'one', 'one']);
  });

  test('a member is alive for 8 s after a heartbeat by the server clock, and a late heartbeat reports it', async () => {
    const [one] = [await member('one'), await member('two')];
    await silence('two', 8_000);
    expect(await one.beat([])).toMatchObject({ late: false, members: [{ alive: true }, { alive: true }] });
    await silence('two', 8_001);
    const seen = await one.beat([]);
    expect(seen?.members.filter(({ alive }) => alive).map((found) => found.member)).toEqual(['one']);
    await silence('one', 8_001);
    expect((await one.beat([]))?.late).toBe(true);
    expect((await one.beat([]))?.late).toBe(false);
  });

  test('a heartbeat reports the sources that share a quota, and they expire with the member by the server clock', async () => {
    const [one, two] = [await member('one'), await member('two')];
    const spacedBy = async (name: string) =>
      (await two.beat([]))?.members
        .filter(({ member, alive }) => member === name && alive)
        .map(({ spaced }) => spaced);
    expect(await spacedBy('one')).toEqual([[]]);
    await one.beat(['acme', 'beta'] as SourceName[]);
    expect(await spacedBy('one')).toEqual([['acme', 'beta']]);
    await silence('one', 8_001);
    expect(await spacedBy('one')).toEqual([]);
    await one.beat([]);
    expect(await spacedBy('one')).toEqual([[]]);
  });

  test('a member declared dead or that leaves holds no sources any more', async () => {
    const [one, two] = [await member('one'), await member('two')];
    await two.take(sources);
    await one.markDead(['two']);
    expect(await one.take(sources)).toEqual(sources);
    await one.release(['beta' as SourceName]);
    expect((await one.holdings()).held.size).toBe(2);
    await one.leave();
    expect(await one.beat([])).toBeNull();
    expect((await two.holdings()).held.size).toBe(0);
  });

  test('members receive the messages of other members, split or whole, but not their own', async () => {
    const gaps: string[] = [];
    const [one] = [await member('one', gaps), await member('two', gaps)];
    expect(gaps).toEqual(['one', 'two']);
    const lanes = Array.from({ length: 250 }, (_, n) => `source-with-a-rather-long-name-${n}` as Lane);
    await one.tell({ kind: 'accepted', lanes });
    await expect.poll(() => received).toHaveLength(3);
    expect(received.flatMap((message) => (message.kind === 'accepted' ? message.lanes : []))).toEqual(lanes);
  });

  test('members ignore invalid messages on their channel and receive the next valid one', async () => {
    const one = await member('one');
    await member('two');
    await withClient(fresh.url, async (anybody) => {
      for (const payload of garbage) await anybody.query('SELECT pg_notify($1, $2)', [channel(), payload]);
      await anybody.query(`NOTIFY ${channel()}`);
    });
    await one.tell({ kind: 'ticked', source: acme.name });
    await expect.poll(() => received).toContainEqual({ kind: 'ticked', source: 'acme' });
    expect(received).toEqual([{ kind: 'ticked', source: 'acme' }]);
    expect(await one.beat([])).not.toBeNull();
  });

  test('a member whose connection was cut reconnects and reports a possible gap', async () => {
    const gaps: string[] = [];
    const one = await member('one', gaps);
    await database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'rosterd-fleet' AND datname = current_database()`,
    );
    await expect.poll(() => one.beat([]).catch(() => null)).not.toBeNull();
    // A heartbeat on the dying connection may need a second attempt.
    expect(gaps.length).toBeGreaterThanOrEqual(2);
  });
});

describe('a tick', () => {
  test('a source claimed by one member cannot be opened by another member, but can be by a process outside the fleet', async () => {
    const one = await member('one');
    await member('two');
    await one.take(sources);
    await expect(mirror().open(acme, 'two')).rejects.toMatchObject({
      code: 'lease_lost',
      message: expect.stringContaining('worked by one, another member of the fleet'),
    });
    const { lease } = await mirror().open(acme, 'another sync');
    await mirror().release(lease);
    await expect(mirror().open(acme, 'one')).resolves.toMatchObject({ lease: { fence: lease.fence + 1 } });
  });

  test('a lease that a living member holds is not free, whichever other member died', async () => {
    await member('one');
    await member('gone');
    await mirror().open(acme, 'one');
    await silence('gone', 9_000);
    await expect(mirror().open(acme, 'another sync')).rejects.toMatchObject({ code: 'lease_lost' });
    await silence('one', 9_000);
    await expect(mirror().open(acme, 'another sync')).resolves.toMatchObject({ lease: { source: 'acme' } });
  });

  test('a source is taken over from a member that died while the server clock was forty days ahead', async () => {
    const one = await member('one');
    const two = await member('two');
    await one.take(sources);
    await silence('one', -40 * 86_400_000);
    expect((await two.beat([]))?.members).toContainEqual(
      expect.objectContaining({ member: 'one', alive: false }),
    );
    expect(await two.take(sources)).toEqual(sources);
    // If the member is alive after all, its next heartbeat reports that it was late.
    expect((await one.beat([]))?.late).toBe(true);
  });

  test('the source of a member without a heartbeat is taken over, and the late writes of that member are rejected', async () => {
    const one = await member('one');
    const two = await member('two');
    await one.take(sources);
    const frozen = mirror();
    const { lease } = await frozen.open(acme, 'one');
    await silence('one', 9_000);
    expect(await two.take(sources)).toEqual(sources);
    await expect(mirror().open(acme, 'two')).resolves.toMatchObject({ lease: { fence: lease.fence + 1 } });
    const start = { kind: 'first', fingerprint: 'f1', restarts: 0, notBefore: null } as const;
    await expect(frozen.beginListing(lease, start)).rejects.toMatchObject({ code: 'lease_lost' });
    expect((await one.beat([]))?.late).toBe(true);
    await expect(frozen.open(acme, 'one')).rejects.toMatchObject({ code: 'lease_lost' });
  });
});

test('a forged message about a finished tick settles no delivery; the recorded tick does', async () => {
  const inbox = postgresInbox(database);
  const clock = new SteppingClock(Date.parse('2026-10-20T12:00:00.000Z'));
  const lane = 'acme,beta' as Lane;
  const observedAt = '2026-02-20T00:00:00.000Z' as Instant;
  await inbox.accept({
    eventId: 'evt_1' as EventId,
    installation: '',
    event: 'investment.changed',
    lane,
    observedAt,
    company: null,
    investment: null,
    test: false,
    receivedAt: '2026-02-20T00:00:01.000Z' as Instant,
    body: '{}',
  });
  let end: (source: SourceName, tick: Ticked) => void = () => {};
  const lookups = vi.spyOn(inbox, 'proofOf');
  const drain = createDrain({
    inbox,
    clock,
    logger: silentLogger,
    sources,
    ticks: {
      nudge: () => {},
      onTick: (listener) => {
        end = listener;
        return () => {};
      },
    },
    others: {
      worksHere: (source) => source === 'acme',
      alone: () => false,
      announceAccepted: () => {},
      announceTicked: () => {},
    },
  });
  await member('here', [], (message) => {
    if (message.kind === 'ticked') drain.heardTicked(message.source);
  });
  drain.heardAccepted(lane);
  const now = '2026-10-20T12:00:00.000Z' as Instant;
  end('acme' as SourceName, { done: true, startedAt: now, publishedThrough: now });
  await expect.poll(() => lookups.mock.calls.length).toBe(1);
  const forged = {
    kind: 'ticked',
    source: 'beta',
    startedAt: now,
    publishedThrough: now,
    done: true,
    from: 'there',
  };
  await database.pool.query('SELECT pg_notify($1, $2)', [channel(), JSON.stringify(forged)]);
  await expect.poll(() => lookups.mock.calls.length).toBe(2);
  await Promise.all(lookups.mock.results.map(({ value }) => value));
  expect(await inbox.counts()).toMatchObject({ pending: 1, worked: 0 });

  const there = await member('there');
  const beta = { name: 'beta' as SourceName, fingerprint: 'f1' };
  const { lease } = await mirror().open(beta, 'there');
  const start = { kind: 'first', fingerprint: 'f1', restarts: 0, notBefore: null } as const;
  await mirror().beginListing(lease, start);
  await mirror().addListingPage(lease, listingPage([], 'c1'));
  await mirror().publishListing(lease, 'c1' as Cursor, cautious);
  await mirror().applyPage(
    lease,
    deltaPage([], 'c2'),
    { kind: 'following', cursor: 'c2' as Cursor },
    (applied) => ({
      trigger: 'webhook',
      mode: 'delta',
      startedAt: now,
      tookMs: 5,
      pages: 1,
      applied,
      outcome: 'done',
      code: null,
      message: null,
      retryAt: null,
    }),
  );
  await there.tell({ kind: 'ticked', source: beta.name });
  await expect.poll(() => inbox.counts()).toMatchObject({ pending: 0, worked: 1 });
  await drain.close();
});

test('of two daemons that settle the same delivery, one does and the other skips it without waiting', async () => {
  const inbox = postgresInbox(database);
  const at = '2026-10-20T12:00:00.000Z' as Instant;
  await inbox.accept({
    eventId: 'evt_1' as EventId,
    installation: '',
    event: 'investment.changed',
    lane: ownLane(acme.name),
    company: null,
    investment: null,
    observedAt: null,
    test: false,
    receivedAt: at,
    body: '{}',
  });
  const other = await database.pool.connect();
  await other.query('BEGIN');
  await other.query("UPDATE webhook_inbox SET attempts = attempts + 1 WHERE event_id = 'evt_1'");
  await inbox.retry([1], at);
  await other.query('COMMIT');
  other.release();
  expect(await inbox.pending(ownLane(acme.name), 0, 10)).toMatchObject([{ no: 1, attempts: 1 }]);
});
