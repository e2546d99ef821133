import { describe, expect } from 'vitest';
import type { Cursor } from '../../src/domain/position.js';
import { test } from './both-databases.js';
import { type Fixture, mirrorFixture, mirrorOn } from './mirror-fixture.js';
import { acme, deltaPage, record, tickReport } from './samples.js';

const report = tickReport({ trigger: 'webhook' });
const reached = (cursor: string) => ({ kind: 'following', cursor: cursor as Cursor }) as const;
const later = { leaseLater: true };
const change = (cents: number) => deltaPage([record('inv_1', { committed_cents: cents as never })]);

/** A source that is followed and that no holder has, with two processes that may open it. */
async function followed(): Promise<Fixture & { readonly other: Fixture['mirror'] }> {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1')]]);
  await fixture.delta([record('inv_1', { committed_cents: 1 as never })], 'c1');
  await fixture.mirror.release(fixture.lease);
  return { ...fixture, other: mirrorOn(fixture.store, { leaseMs: 60_000, clock: fixture.clock }) };
}

const cents = async ({ rows }: Fixture) => await rows('SELECT committed_cents FROM investment_rows');

describe('a lease that the first write takes', () => {
  test('a source opened for a lease later is read as one opened at once, and its page is written', async () => {
    const fixture = await followed();
    // Not the process that released the source last, which on SQLite leaves the stored lease as it is.
    const { other: mirror, lease, rows } = fixture;
    const opened = await mirror.open(acme, 'tester', later);
    expect(opened).toMatchObject({
      lease: { source: 'acme', fence: lease.fence + 1 },
      phase: { kind: 'following', cursor: 'c1' },
      filtersChanged: false,
    });
    await mirror.applyPage(opened.lease, change(2), reached('c2'), () => report);
    expect(await cents(fixture)).toEqual([{ committed_cents: 2 }]);
    expect(await rows('SELECT fence FROM leases')).toEqual([{ fence: lease.fence + 1 }]);
    expect((await mirror.open(acme, 'second')).lease.fence).toBe(lease.fence + 2);
  });

  test('after the first write without an end the lease keeps others out, until it is released', async () => {
    const { mirror, other } = await followed();
    const { lease } = await mirror.open(acme, 'tester', later);
    await mirror.applyPage(lease, change(2), reached('c2'));
    await expect(other.open(acme, 'second', later)).rejects.toMatchObject({ code: 'lease_lost' });
    await expect(other.open(acme, 'second')).rejects.toMatchObject({ code: 'lease_lost' });
    await mirror.applyPage(lease, change(3), reached('c3'));
    await mirror.release(lease);
    await expect(other.open(acme, 'second', later)).resolves.toMatchObject({
      phase: { kind: 'following', cursor: 'c3' },
    });
  });

  test('a renewal takes the lease, so that a slow tick keeps others out', async () => {
    const { mirror, other } = await followed();
    const { lease } = await mirror.open(acme, 'tester', later);
    await mirror.renew(lease);
    await expect(other.open(acme, 'second')).rejects.toMatchObject({ code: 'lease_lost' });
    await mirror.applyPage(lease, change(2), reached('c2'), () => report);
    await other.open(acme, 'second');
  });
});
