import { expect, onTestFinished, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import type { Cursor } from '../../src/domain/position.js';
import { createFleet } from '../../src/fleet/fleet.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { PostgresFleet } from '../../src/store/dialect/postgres/fleet.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { PostgresMirror } from '../../src/store/dialect/postgres/mirror.js';
import { openPostgres, type PostgresDatabase } from '../../src/store/dialect/postgres/open.js';
import { shippedMigrations } from '../../src/store/migrate.js';
import type { MirrorOptions } from '../../src/store/mirror-options.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { stopHeartbeatClock } from '../postgres/stop-heartbeat-clock.js';
import { SteppingClock } from '../store/mirror-fixture.js';
import { deltaPage, listingPage, record } from '../store/samples.js';
import { memberOf010 } from './member-of-0.1.0.js';

const acme = { name: 'acme' as SourceName, fingerprint: 'f' };
const old = 'old-host:1:2.3.4';
const all = shippedMigrations('postgres');
const today = { clock: systemClock, version: '0.2.0' };

/** A database whose schema is that of 0.1.0, opened by this version. */
async function databaseOf010(): Promise<{ readonly url: string; readonly database: PostgresDatabase }> {
  const { url } = await freshDatabase();
  const database = await openPostgres(url);
  onTestFinished(() => database.close());
  const migrations = all.filter(({ number }) => number <= 6);
  await migratePostgres(database, { clock: systemClock, version: '0.1.0', migrations });
  await stopHeartbeatClock(database.pool);
  return { url, database };
}

const rows = async <Row extends object>(database: PostgresDatabase, sql: string) =>
  (await database.pool.query<Row>(sql)).rows;

const schemaOf = async (database: PostgresDatabase) =>
  (await rows<{ newest: number }>(database, 'SELECT max(number) AS newest FROM migrations'))[0]?.newest;

/** Makes a member look as if its last heartbeat was nine seconds ago. */
const silence = (database: PostgresDatabase) =>
  database.pool.query('UPDATE fleet_members SET seen_at = fleet_clock(9000)');

test('upgrade of a fleet: while a member of 0.1.0 sends heartbeats, this version migrates nothing and names it', async () => {
  const { url, database } = await databaseOf010();
  const member = await memberOf010(url, old, ['acme']);
  await member.join();
  const fence = await member.takeLease('acme');
  await expect(migratePostgres(database, today)).rejects.toMatchObject({
    code: 'database_unusable',
    message: 'the schema has to be migrated, and rosterd 0.1.0 on old-host:1 still uses it',
    about: { hint: expect.stringContaining('Stop rosterd on every host') as unknown },
  });
  expect(await schemaOf(database)).toBe(6);
  expect([await member.beat(), await member.commitPage('acme', fence)]).toEqual([true, true]);

  await member.leave();
  await migratePostgres(database, today);
  expect(await schemaOf(database)).toBe(all.length);
});

test('upgrade of a fleet: a member of 0.1.0 that was frozen during the migration writes nothing when it resumes', async () => {
  const { url, database } = await databaseOf010();
  const member = await memberOf010(url, old, ['acme']);
  await member.join();
  const fence = await member.takeLease('acme');
  await silence(database);
  await migratePostgres(database, today);
  const sources = 'SELECT row_to_json(s)::text AS source FROM sources s';
  const before = await rows(database, sources);

  expect(await member.commitPage('acme', fence)).toBe(false);
  expect(await member.beat()).toBe(false);
  await expect(member.join()).rejects.toMatchObject({ code: '23502', table: 'fleet_members' });
  await expect(member.takeLease('acme')).rejects.toMatchObject({ code: '23502', table: 'leases' });
  expect(await rows(database, sources)).toEqual(before);
  expect(await rows(database, 'SELECT 1 FROM fleet_members')).toEqual([]);
  // The lease that it held does not delay the source.
  const mirror = new PostgresMirror(database, { clock: systemClock, leaseMs: 30_000 });
  expect((await mirror.open(acme, 'new')).lease.fence).toBe(fence + 2);
});

test('upgrade of a fleet: a member that died is no obstacle when its process is known to have ended', async () => {
  const { url, database } = await databaseOf010();
  await (await memberOf010(url, old, ['acme'])).join();
  await migratePostgres(database, { ...today, isGone: (member) => member === old });
  expect(await schemaOf(database)).toBe(all.length);
});

/** Pretends that a later version migrated the database, as it does: without members and with voided leases. */
const migrateFurther = (database: PostgresDatabase) =>
  database.pool.query(
    `BEGIN; INSERT INTO migrations VALUES (${all.length + 1}, 'later', 'x', '2027-01-01T00:00:00.000Z', '9.0.0');
     DELETE FROM fleet_members; UPDATE leases SET fence = fence + 1; COMMIT`,
  );

const outdated = {
  code: 'database_unusable',
  message: `the database was migrated to schema ${all.length + 1} while this process, which knows up to ${all.length}, was running`,
};

test('upgrade of a fleet: this version, running while a later one migrates, writes no page and takes no lease', async () => {
  const { url } = await freshDatabase();
  const database = await openPostgres(url);
  onTestFinished(() => database.close());
  await migratePostgres(database, today);
  const options: MirrorOptions = { clock: new SteppingClock(), leaseMs: 30_000 };
  const mirror = new PostgresMirror(database, options);
  const { lease } = await mirror.open(acme, 'a');
  await mirror.beginListing(lease, { kind: 'first', fingerprint: 'f', restarts: 0, notBefore: null });
  await mirror.addListingPage(lease, listingPage([record('inv_1')], 'c1'));
  await migrateFurther(database);
  // Most migrations add columns. The connection has prepared its statements before.
  await database.pool.query('ALTER TABLE sources ADD COLUMN later text');
  const source = 'SELECT row_to_json(s)::text AS source FROM sources s';
  const before = await rows(database, source);
  const reached = { kind: 'following', cursor: 'c2' as Cursor } as const;
  await expect(mirror.applyPage(lease, deltaPage([record('inv_2')], 'c2'), reached)).rejects.toMatchObject(
    outdated,
  );
  await expect(mirror.open(acme, 'b')).rejects.toMatchObject(outdated);
  expect(await rows(database, source)).toEqual(before);
});

test('upgrade of a fleet: a member whose schema is outdated leaves its sources and says so in one sentence', async () => {
  const { url } = await freshDatabase();
  const database = await openPostgres(url);
  onTestFinished(() => database.close());
  await migratePostgres(database, today);
  const followed = new Set<SourceName>();
  const said: string[] = [];
  const failures: unknown[] = [];
  const fleet = createFleet({
    open: (member, ears) => new PostgresFleet(member, { server: url, database, version: '0.2.0' }, ears),
    member: 'host:1:x',
    sources: [acme.name],
    clock: systemClock,
    logger: { ...silentLogger, warn: (_: object, text: string) => void said.push(text) },
    isGone: () => false,
    follow: (taken) => {
      for (const source of taken) followed.add(source);
    },
    leave: async (source) => void followed.delete(source),
    isBusy: () => false,
    spaced: () => [],
    onSpaced: () => {},
    onMessage: () => {},
    onLook: () => {},
    onLead: () => {},
    onHeartbeat: (error) => void (error !== null && failures.push(error)),
  });
  onTestFinished(() => fleet.close());
  await fleet.start();
  expect([[...followed], fleet.leads]).toEqual([['acme'], true]);
  await migrateFurther(database);
  fleet.look();
  await expect.poll(() => failures.length).toBeGreaterThan(0);
  expect(failures[0]).toMatchObject(outdated);
  expect([[...followed], fleet.leads]).toEqual([[], false]);
  const refusals = said.filter((text) => text.startsWith('the database refuses'));
  expect(refusals).toEqual(['the database refuses this daemon, which follows no source until that changes']);
  // A start is refused as well.
  await expect(openPostgres(url)).rejects.toMatchObject({ code: 'database_unusable' });
});
