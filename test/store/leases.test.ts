import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished } from 'vitest';
import { isFault } from '../../src/domain/fault.js';
import { millisOf } from '../../src/domain/instant.js';
import { isSharedProcessGone, processName } from '../../src/runtime/process-identity.js';
import type { SourceIdentity, TickReport } from '../../src/sync/ports.js';
import { test } from './both-databases.js';
import { mirrorFixture } from './mirror-fixture.js';
import { acme, deltaPage, listingPage, record, tickReport } from './samples.js';

const report = tickReport({
  tookMs: 12.6,
  applied: { added: 1, changed: 2, removed: 3, unchanged: 4, quarantined: 5 },
});

describe('a lease', () => {
  test('a lease keeps a second holder out, with an error that names the holder and the expiry', async () => {
    const { mirror } = await mirrorFixture();
    await expect(mirror.open(acme, 'second')).rejects.toMatchObject({
      code: 'lease_lost',
      message: expect.stringMatching(/^source acme is held by tester until 2026-05-01T00:01:0\d\.000Z$/),
    });
  });

  test('a refused holder retries after a third of the lease, and at its expiry at the latest', async () => {
    const { mirror, clock } = await mirrorFixture();
    const waits = async () => {
      const error: unknown = await mirror.open(acme, 'second').catch((reason: unknown) => reason);
      if (!isFault(error) || error.about.retryAt === undefined) throw error;
      return millisOf(error.about.retryAt) - clock.millis;
    };
    expect(await waits()).toBe(20_000);
    clock.millis += 50_000;
    const last = await waits();
    expect([last > 0, last < 20_000]).toEqual([true, true]);
  });

  test('an expired lease can be taken over, and its late holder can no longer write, renew or release it', async () => {
    const { mirror, lease, clock, rows } = await mirrorFixture();
    clock.millis += 120_000;
    const { lease: newer } = await mirror.open(acme, 'second');
    expect(newer.fence).toBe(lease.fence + 1);
    const start = { kind: 'first', fingerprint: 'f1', restarts: 0, notBefore: null } as const;
    const late = [
      () => mirror.renew(lease),
      () => mirror.beginListing(lease, start),
      () => mirror.addListingPage(lease, listingPage([], 'x')),
      () => mirror.publishListing(lease, 'x' as never, { share: 0, rows: 0, accepted: true }),
      () => mirror.applyPage(lease, deltaPage([]), { kind: 'following', cursor: 'x' as never }),
      () => mirror.applyPage(lease, deltaPage([]), { kind: 'following', cursor: 'x' as never }, () => report),
      () => mirror.recordTick(lease, report, null),
    ];
    for (const write of late) await expect(write()).rejects.toMatchObject({ code: 'lease_lost' });
    await mirror.release(lease);
    await expect(mirror.open(acme, 'third')).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await rows('SELECT state FROM sources')).toEqual([{ state: 'empty' }]);
  });

  test('the lease of a dead holder is taken over immediately, and the fence rejects that holder', async () => {
    const dead = new Set<string>();
    const { mirror, lease } = await mirrorFixture({ isGone: (holder) => dead.has(holder) });
    await expect(mirror.open(acme, 'second')).rejects.toMatchObject({ code: 'lease_lost' });
    dead.add('tester');
    await expect(mirror.open(acme, 'second')).resolves.toMatchObject({ lease: { fence: lease.fence + 1 } });
    await expect(mirror.recordTick(lease, report, null)).rejects.toMatchObject({ code: 'lease_lost' });
  });

  // Elsewhere the start of a process is not known, so its lease always lasts until it expires.
  if (process.platform === 'linux')
    test('the lease of a frozen process lasts until it expires, and ends immediately when the process is killed', async () => {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
      onTestFinished(() => void child.kill('SIGKILL'));
      await once(child, 'spawn');
      const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
      const birth = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
      const frozen = `${processName().replace(/:\d+:\d*\./, `:${child.pid}:${birth}.`)}:abcdefgh`;
      const { mirror, lease, clock } = await mirrorFixture({ isGone: isSharedProcessGone });
      await mirror.release(lease);
      await mirror.open(acme, frozen);
      child.kill('SIGSTOP');
      await expect(mirror.open(acme, 'second')).rejects.toMatchObject({ code: 'lease_lost' });
      clock.millis += 61_000;
      const { lease: second } = await mirror.open(acme, 'second');
      await mirror.release(second);
      const { lease: again } = await mirror.open(acme, frozen);
      child.kill('SIGKILL');
      await once(child, 'exit');
      const { lease: third } = await mirror.open(acme, 'third');
      expect(third.fence).toBe(again.fence + 1);
      await expect(mirror.recordTick(again, report, null)).rejects.toMatchObject({ code: 'lease_lost' });
    });

  test('a renewed lease stays valid, and a released one is free immediately', async () => {
    const { mirror, lease, clock } = await mirrorFixture();
    clock.millis += 50_000;
    await mirror.renew(lease);
    clock.millis += 50_000;
    await expect(mirror.open(acme, 'second')).rejects.toMatchObject({ code: 'lease_lost' });
    await mirror.release(lease);
    await expect(mirror.open(acme, 'second')).resolves.toMatchObject({ lease: { fence: 2 } });
  });

  test('a lease with an impossible expiry, written before the clock was set back, is taken over', async () => {
    const { mirror, clock } = await mirrorFixture();
    clock.millis -= 30 * 24 * 3_600_000;
    await expect(mirror.open(acme, 'second')).resolves.toMatchObject({ lease: { fence: 2 } });
  });

  test('a holder with an expired lease can still write until another holder takes the source', async () => {
    const { mirror, lease, clock } = await mirrorFixture();
    clock.millis += 3_600_000;
    await expect(mirror.recordTick(lease, report, null)).resolves.toBeUndefined();
  });
});

describe('a source', () => {
  test('a source whose filters changed since its cursor reports it, and a listing adopts the new filters', async () => {
    const { mirror, lease, list, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    const changed = { ...acme, fingerprint: 'f2' };
    const opened = await mirror.open(changed, 'tester');
    expect(opened.filtersChanged).toBe(true);
    expect(await rows('SELECT fingerprint FROM sources')).toEqual([{ fingerprint: 'f1' }]);
    await mirror.beginListing(opened.lease, {
      kind: 'relist',
      fingerprint: 'f2',
      restarts: 0,
      notBefore: null,
    });
    expect((await mirror.open(changed, 'tester')).filtersChanged).toBe(false);
    expect(lease.fence).toBeLessThan(opened.lease.fence);
  });

  test('a source that was stored with a token without a realm gets the realm of the next one, and keeps it', async () => {
    const { mirror, list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    await delta([]);
    const stored = async () =>
      ((await rows('SELECT fingerprint FROM sources')) as { fingerprint: string }[])[0]?.fingerprint;
    const open = async (identity: Partial<SourceIdentity>, leaseLater: boolean) =>
      (await mirror.open({ ...acme, ...identity }, 'tester', { leaseLater })).filtersChanged;
    for (const leaseLater of [true, false]) {
      expect(await open({ fingerprint: 'live', withoutRealm: 'other' }, leaseLater)).toBe(true);
      expect(await open({ fingerprint: 'none', withRealm: ['f1', 'live'] }, leaseLater)).toBe(false);
      expect(await stored()).toBe('f1');
    }
    expect(await open({ fingerprint: 'test', withoutRealm: 'f1' }, true)).toBe(false);
    expect(await stored()).toBe('test');
    expect(await open({ fingerprint: 'live', withoutRealm: 'f1' }, true)).toBe(true);
  });

  test('a halted source keeps its position and continues from it', async () => {
    const { mirror, lease, list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    await delta([], 'c5');
    const failed = { ...report, outcome: 'failed', code: 'reauthorize', message: 'sign in again' } as const;
    await mirror.recordTick(lease, failed, { code: 'reauthorize', message: 'sign in again' });
    await mirror.recordTick(lease, failed, { code: 'reauthorize', message: 'still' });
    const opened = await mirror.open(acme, 'tester');
    expect(opened.phase).toMatchObject({
      kind: 'halted',
      code: 'reauthorize',
      message: 'still',
      at: expect.any(String),
      before: { kind: 'following', cursor: 'c5' },
    });
    expect(await rows('SELECT state, last_error_code, last_error FROM sources')).toEqual([
      { state: 'halted', last_error_code: 'reauthorize', last_error: 'sign in again' },
    ]);
    await mirror.recordTick(opened.lease, report, null);
    expect((await mirror.open(acme, 'tester')).phase).toMatchObject({ kind: 'following', cursor: 'c5' });
  });

  test('an applied page ends the halt of a source', async () => {
    const { mirror, lease, list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    await mirror.recordTick(lease, report, { code: 'forbidden', message: 'no' });
    await delta([], 'c6');
    expect(await rows('SELECT state, halted_from, halted_code, halted_at FROM sources')).toEqual([
      { state: 'following', halted_from: null, halted_code: null, halted_at: null },
    ]);
  });

  test('the commit of the last page of a tick also records the tick and releases the lease', async () => {
    const { mirror, lease, list, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    const ending = (applied: TickReport['applied']): TickReport => ({ ...report, applied });
    const reached = { kind: 'following', cursor: 'c7' } as never;
    await mirror.applyPage(lease, deltaPage([record('inv_2')]), reached, ending);
    expect(
      await rows('SELECT cursor, last_outcome, last_success_at = last_committed_at AS now FROM sources'),
    ).toEqual([{ cursor: 'c7', last_outcome: 'done', now: 1 }]);
    expect(await rows('SELECT outcome, pages, added FROM ticks')).toEqual([
      { outcome: 'done', pages: 1, added: 1 },
    ]);
    await expect(mirror.open(acme, 'second')).resolves.toMatchObject({ lease: { fence: lease.fence + 1 } });
  });

  test('every tick is recorded, and a successful one clears the last error', async () => {
    const { mirror, lease, rows } = await mirrorFixture();
    const retryAt = '2026-05-01T09:00:00.000Z' as never;
    await mirror.recordTick(
      lease,
      { ...report, outcome: 'waiting', code: 'rate_limited', message: 'wait', retryAt },
      null,
    );
    const told =
      'SELECT last_outcome, last_error_code, retry_at, last_success_at IS NULL AS never FROM sources';
    expect(await rows(told)).toEqual([
      { last_outcome: 'waiting', last_error_code: 'rate_limited', retry_at: retryAt, never: 1 },
    ]);
    await mirror.recordTick(lease, { ...report, outcome: 'waiting' }, null);
    expect(await rows(told), 'a wait without an error').toMatchObject([{ last_error_code: 'rate_limited' }]);
    await mirror.recordTick(lease, { ...report, mode: 'none' }, null);
    expect(await rows(told), 'records that were read again').toMatchObject([
      { last_outcome: 'done', never: 1 },
    ]);
    await mirror.recordTick(lease, report, null);
    expect(await rows(told)).toEqual([
      { last_outcome: 'done', last_error_code: null, retry_at: null, never: 0 },
    ]);
    expect(
      await rows(
        'SELECT source, trigger, mode, took_ms, pages, added, changed, removed, quarantined FROM ticks WHERE tick = 4',
      ),
    ).toEqual([
      {
        source: 'acme',
        trigger: 'timer',
        mode: 'delta',
        took_ms: 13,
        pages: 1,
        added: 1,
        changed: 2,
        removed: 3,
        quarantined: 5,
      },
    ]);
  });
});
