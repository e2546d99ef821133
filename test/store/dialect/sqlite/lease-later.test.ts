import { expect, test, vi } from 'vitest';
import type { Cursor } from '../../../../src/domain/position.js';
import { SqliteMirror } from '../../../../src/store/dialect/sqlite/mirror.js';
import type { Mirror } from '../../../../src/sync/ports.js';
import { type Fixture, mirrorFixture } from '../../mirror-fixture.js';
import { acme, deltaPage, record, tickReport } from '../../samples.js';

const report = tickReport({ trigger: 'webhook' });
const reached = (cursor: string) => ({ kind: 'following', cursor: cursor as Cursor }) as const;
const change = (cents: number) => deltaPage([record('inv_1', { committed_cents: cents as never })]);
const later = { leaseLater: true };

interface Followed extends Fixture {
  /** The mirror of another process. */
  readonly other: Mirror;
}

/** A source that is followed and that no holder has. */
async function followed(): Promise<Followed> {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1')]]);
  await fixture.delta([record('inv_1', { committed_cents: 1 as never })], 'c1');
  await fixture.mirror.release(fixture.lease);
  return { ...fixture, other: new SqliteMirror(fixture.database, { leaseMs: 60_000, clock: fixture.clock }) };
}

const cents = ({ rows }: Fixture) => rows('SELECT committed_cents FROM investment_rows');

test('a tick that opens a followed source for a lease later and writes one page commits once, durably', async () => {
  const { mirror, database } = await followed();
  const commits: unknown[] = [];
  const exec = database.raw.exec.bind(database.raw);
  vi.spyOn(database.raw, 'exec').mockImplementation((sql) => {
    if (sql === 'COMMIT') commits.push(database.raw.pragma('synchronous', { simple: true }));
    return exec(sql);
  });
  const { lease } = await mirror.open(acme, 'tester', later);
  await mirror.applyPage(lease, change(2), reached('c2'), () => report);
  expect(commits).toEqual([2]);
  const unused = await mirror.open(acme, 'tester', later);
  await mirror.release(unused.lease);
  expect(commits).toEqual([2]);
});

test('only a followed source under its own fingerprint is opened for a lease later', async () => {
  const { mirror, rows } = await mirrorFixture({ source: { ...acme, fingerprint: 'f0' } });
  await mirror.release((await mirror.open({ ...acme, fingerprint: 'f0' }, 'tester', later)).lease);
  expect(await rows('SELECT fence FROM leases')).toEqual([{ fence: 2 }]);
  const { mirror: listed, rows: listedRows } = await followed();
  await listed.open({ ...acme, fingerprint: 'f2' }, 'tester', later);
  expect(await listedRows('SELECT fence FROM leases')).toEqual([{ fence: 2 }]);
});

const meanwhile: readonly (readonly [string, (fixture: Followed) => Promise<unknown>])[] = [
  ['holds the source', ({ other }) => other.open(acme, 'second')],
  [
    'held the source and released it unchanged',
    async ({ other }) => await other.release((await other.open(acme, 'second')).lease),
  ],
  [
    'wrote to the source in a tick of its own',
    async ({ other }) => {
      const { lease } = await other.open(acme, 'second', later);
      await other.applyPage(lease, change(9), reached('c9'), () => report);
    },
  ],
];

test.each(meanwhile)(
  'the first write under a lease taken later is rejected when another process %s',
  async (_, act) => {
    const fixture = await followed();
    const { mirror } = fixture;
    const { lease } = await mirror.open(acme, 'tester', later);
    await act(fixture);
    const before = await cents(fixture);
    const late = [
      () => mirror.applyPage(lease, change(2), reached('c2'), () => report),
      () => mirror.recordTick(lease, report, null),
      () => mirror.renew(lease),
    ];
    for (const write of late) await expect(write()).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await cents(fixture)).toEqual(before);
  },
);

test('the first write is rejected when a holder with an expired lease has written or renewed it', async () => {
  for (const late of ['writes', 'renews'] as const) {
    const fixture = await followed();
    const { mirror, other, clock } = fixture;
    const { lease: old } = await other.open(acme, 'second');
    clock.millis += 120_000;
    const { lease } = await mirror.open(acme, 'tester', later);
    if (late === 'writes') await other.applyPage(old, change(9), reached('c9'));
    else await other.renew(old);
    await expect(mirror.applyPage(lease, change(2), reached('c2'), () => report)).rejects.toMatchObject({
      code: 'lease_lost',
    });
    expect(await cents(fixture)).toEqual([{ committed_cents: late === 'writes' ? 9 : 1 }]);
  }
});

test('a first write that fails takes no lease, and the next one may', async () => {
  const fixture = await followed();
  const { mirror, database, rows } = fixture;
  const { lease } = await mirror.open(acme, 'tester', later);
  database.raw.exec(
    "CREATE TEMP TRIGGER broken BEFORE INSERT ON tick_rows BEGIN SELECT RAISE(ABORT, 'broken'); END",
  );
  const write = () => mirror.applyPage(lease, change(2), reached('c2'), () => report);
  await expect(write()).rejects.toThrow('broken');
  expect(await rows('SELECT fence FROM leases')).toEqual([{ fence: lease.fence - 1 }]);
  database.raw.exec('DROP TRIGGER broken');
  await write();
  expect(await cents(fixture)).toEqual([{ committed_cents: 2 }]);
});

test('companies and rounds stored during a tick that opened its source for a lease later do not end it', async () => {
  const fixture = await followed();
  const { lease } = await fixture.mirror.open(acme, 'tester', later);
  // As `SqliteDimensions` does, which needs no lease.
  fixture.database.raw.exec("UPDATE sources SET last_committed_at = '2026-05-01T01:00:00.000Z'");
  await fixture.mirror.applyPage(lease, change(2), reached('c2'), () => report);
  expect(await cents(fixture)).toEqual([{ committed_cents: 2 }]);
});

/** The lease as other processes see it. */
const leaseOf = async ({ rows, clock }: Fixture) => {
  const [lease] = (await rows('SELECT fence, expires_at FROM leases')) as [
    { fence: number; expires_at: string },
  ];
  return { fence: lease.fence, isRunning: Date.parse(lease.expires_at) > clock.millis };
};

/** Runs a tick with one page. */
async function tick({ mirror }: Pick<Fixture, 'mirror'>, to: number, holder = 'tester'): Promise<void> {
  const { lease } = await mirror.open(acme, holder, later);
  await mirror.applyPage(lease, change(to), reached(`c${to}`), () => report);
}

test('a tick with one page writes no lease when this process released the last one, which stays released', async () => {
  const fixture = await followed();
  await tick(fixture, 2);
  const first = await leaseOf(fixture);
  expect(first.isRunning).toBe(false);
  await tick(fixture, 3);
  await tick(fixture, 4);
  expect(await leaseOf(fixture)).toEqual(first);
  // A tick of several pages holds a lease that was never issued before.
  const { lease } = await fixture.mirror.open(acme, 'tester', later);
  await fixture.mirror.applyPage(lease, change(5), reached('c5'));
  expect(await leaseOf(fixture)).toEqual({ fence: first.fence + 1, isRunning: true });
  expect(await cents(fixture)).toEqual([{ committed_cents: 5 }]);
});

test('a tick writes its lease when another process held the source since, and another holder before', async () => {
  const fixture = await followed();
  await tick(fixture, 2);
  const { fence } = await leaseOf(fixture);
  await fixture.other.release((await fixture.other.open(acme, 'second')).lease);
  await tick(fixture, 3);
  await tick(fixture, 3);
  expect(await leaseOf(fixture)).toEqual({ fence: fence + 2, isRunning: false });
  // The same name in another process, which released nothing itself.
  await tick({ mirror: fixture.other }, 4);
  expect(await leaseOf(fixture)).toEqual({ fence: fence + 3, isRunning: false });
});

test('a tick that wrote no lease ends ticks of other processes that began before it', async () => {
  const fixture = await followed();
  const { mirror, other, clock } = fixture;
  const { lease: expired } = await other.open(acme, 'second');
  clock.millis += 120_000;
  await tick(fixture, 2, 'tester');
  const { lease: later1 } = await other.open(acme, 'second', later);
  await tick(fixture, 3, 'tester');
  for (const lease of [expired, later1])
    for (const write of [
      () => other.applyPage(lease, change(9), reached('c9'), () => report),
      () => other.renew(lease),
    ])
      await expect(write()).rejects.toMatchObject({ code: 'lease_lost' });
  expect(await cents(fixture)).toEqual([{ committed_cents: 3 }]);
  await mirror.release((await mirror.open(acme, 'tester', later)).lease);
});

test('a tick whose commit failed releases nothing, so the next one writes its lease', async () => {
  const fixture = await followed();
  await tick({ mirror: fixture.other }, 2, 'second');
  const { fence } = await leaseOf(fixture);
  fixture.database.raw.exec(
    "CREATE TEMP TRIGGER broken BEFORE INSERT ON tick_rows BEGIN SELECT RAISE(ABORT, 'broken'); END",
  );
  await expect(tick(fixture, 3)).rejects.toThrow('broken');
  fixture.database.raw.exec('DROP TRIGGER broken');
  await tick(fixture, 4);
  expect(await leaseOf(fixture)).toEqual({ fence: fence + 1, isRunning: false });
});
