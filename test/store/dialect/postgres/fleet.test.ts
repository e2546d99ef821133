import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EventId, SourceName } from '../../../../src/domain/ids.js';
import type { Instant } from '../../../../src/domain/instant.js';
import type { Message } from '../../../../src/fleet/ports.js';
import { postgresConnection } from '../../../../src/store/connection.js';
import { PostgresFleet } from '../../../../src/store/dialect/postgres/fleet.js';
import { PostgresMirror } from '../../../../src/store/dialect/postgres/mirror.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { Inbox } from '../../../../src/store/inbox.js';
import { type FreshDatabase, migratedDatabase } from '../../../postgres/fresh-database.js';
import { SteppingClock } from '../../mirror-fixture.js';
import { acme } from '../../samples.js';

const sources = ['acme', 'beta', 'gamma'] as SourceName[];

let fresh: FreshDatabase;
let database: PostgresDatabase;
let heard: Message[];
const fleets: PostgresFleet[] = [];

beforeEach(async () => {
  fresh = await migratedDatabase();
  database = await openPostgres(fresh.url);
  heard = [];
});

afterEach(async () => {
  await Promise.all(fleets.splice(0).map((fleet) => fleet.close()));
  await database.close();
  await fresh.drop();
});

async function member(name: string, gaps: string[] = []): Promise<PostgresFleet> {
  const ears = {
    onMessage: (message: Message) => void heard.push(message),
    onGap: () => void gaps.push(name),
  };
  const fleet = new PostgresFleet(name, { url: fresh.url, database, version: '0.0.0-test' }, ears);
  fleets.push(fleet);
  await fleet.join(sources);
  return fleet;
}

/** As if it had told nothing for so long. */
const silence = (name: string, millis: number) =>
  database.pool.query('UPDATE fleet_members SET seen_at = fleet_clock($2) WHERE member = $1', [name, millis]);

const mirror = () => new PostgresMirror(database, { clock: new SteppingClock(), leaseMs: 30_000 });

describe('members', () => {
  test('take what nobody living holds, and nothing twice', async () => {
    const [one, two] = [await member('one'), await member('two')];
    const taken = await Promise.all([one.take(sources), two.take([...sources].reverse())]);
    expect(taken.flat().sort()).toEqual(sources);
    expect(await one.take(sources)).toEqual([]);
    await silence('two', 9_000);
    expect((await one.take(sources)).length).toBe(taken[1]?.length);
    expect([...(await one.holdings()).held.values()]).toEqual(['one', 'one', 'one']);
  });

  test('are alive for eight seconds after a beat, by the clock of the server, and are told when they were late', async () => {
    const [one] = [await member('one'), await member('two')];
    await silence('two', 7_000);
    expect(await one.beat()).toMatchObject({ late: false, members: [{ alive: true }, { alive: true }] });
    await silence('two', 8_001);
    const seen = await one.beat();
    expect(seen?.members.filter(({ alive }) => alive).map((found) => found.member)).toEqual(['one']);
    await silence('one', 8_001);
    expect((await one.beat())?.late).toBe(true);
    expect((await one.beat())?.late).toBe(false);
  });

  test('that are known to be dead hold nothing from then on; those that leave are gone', async () => {
    const [one, two] = [await member('one'), await member('two')];
    await two.take(sources);
    await one.bury(['two']);
    expect(await one.take(sources)).toEqual(sources);
    await one.release(['beta' as SourceName]);
    expect((await one.holdings()).held.size).toBe(2);
    await one.leave();
    expect(await one.beat()).toBeNull();
    expect((await two.holdings()).held.size).toBe(0);
  });

  test('hear what others tell, in one message or several, and not themselves', async () => {
    const gaps: string[] = [];
    const [one] = [await member('one', gaps), await member('two', gaps)];
    expect(gaps).toEqual(['one', 'two']);
    const lanes = Array.from({ length: 250 }, (_, n) => `source-with-a-rather-long-name-${n}`);
    await one.tell({ kind: 'accepted', lanes });
    await expect.poll(() => heard, { timeout: 20_000 }).toHaveLength(3);
    expect(heard.flatMap((message) => (message.kind === 'accepted' ? message.lanes : []))).toEqual(lanes);
  });

  test('whose connection was cut connect again, and say that they may have missed something', async () => {
    const gaps: string[] = [];
    const one = await member('one', gaps);
    await database.pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rosterd-fleet'",
    );
    await expect.poll(() => one.beat().catch(() => null), { timeout: 20_000 }).not.toBeNull();
    // A beat that meets the dying connection may need another one.
    expect(gaps.length).toBeGreaterThanOrEqual(2);
  });
});

describe('a tick', () => {
  test('of a source that another member works is not begun; whoever is no member may come in between', async () => {
    const one = await member('one');
    await member('two');
    await one.take(sources);
    await expect(mirror().open(acme, 'two')).rejects.toMatchObject({
      code: 'lease_lost',
      message: expect.stringContaining('worked by one, another member of the fleet'),
    });
    const { lease } = await mirror().open(acme, 'somebody’s sync');
    await mirror().release(lease);
    await expect(mirror().open(acme, 'one')).resolves.toMatchObject({ lease: { fence: lease.fence + 1 } });
  });

  test('of a member that fell silent goes over at once, and what it writes when it wakes up is refused', async () => {
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
    expect((await one.beat())?.late).toBe(true);
    await expect(frozen.open(acme, 'one')).rejects.toMatchObject({ code: 'lease_lost' });
  });
});

test('of two that settle the same delivery one does, and the other does not wait for it', async () => {
  const inbox = new Inbox(postgresConnection(database), true);
  const at = '2026-10-20T12:00:00.000Z' as Instant;
  await inbox.accept({
    ...{ eventId: 'evt_1' as EventId, installation: '', event: 'investment.changed', lane: 'acme' },
    ...{ company: null, investment: null, observedAt: null, test: false, receivedAt: at, body: '{}' },
  });
  const other = await database.pool.connect();
  await other.query('BEGIN');
  await other.query("UPDATE webhook_inbox SET attempts = attempts + 1 WHERE event_id = 'evt_1'");
  await inbox.retry([1], at);
  await other.query('COMMIT');
  other.release();
  expect(await inbox.pending('acme', at, 0, 10)).toMatchObject([{ no: 1, attempts: 1 }]);
});
