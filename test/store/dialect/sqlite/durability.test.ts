import { expect, test, vi } from 'vitest';
import type { Cursor } from '../../../../src/domain/position.js';
import { mirrorFixture } from '../../mirror-fixture.js';
import { deltaPage, listingPage, record, tickReport } from '../../samples.js';

const report = tickReport();

test('commits of rows and tombstones wait for the disk; only bookkeeping and listing pages do not', async () => {
  const { collect, mirror, lease, database } = await mirrorFixture();
  const { raw } = database;
  const level = () => raw.pragma('synchronous', { simple: true });
  const committedAt: unknown[] = [];
  const exec = raw.exec.bind(raw);
  vi.spyOn(raw, 'exec').mockImplementation((sql) => {
    if (sql === 'COMMIT') committedAt.push(level());
    return exec(sql);
  });
  const levels = async (work: Promise<unknown>) => {
    await work;
    return committedAt.splice(0);
  };
  const [relaxed, full] = [1, 2];
  const reached = { kind: 'sweeping', cursor: 'c1' as Cursor } as const;
  const final = await collect([[record('inv_1')]]);
  expect(committedAt.splice(0)).toEqual([full, relaxed]);
  const accepted = { share: 1, rows: 0, accepted: true };
  expect(new Set(await levels(mirror.publishListing(lease, final, accepted)))).toEqual(new Set([full]));
  expect(await levels(mirror.applyPage(lease, deltaPage([record('inv_2')]), reached))).toEqual([full]);
  expect(await levels(mirror.applyPage(lease, deltaPage([]), reached))).toEqual([relaxed]);
  expect(await levels(mirror.recordTick(lease, report, null))).toEqual([relaxed]);
  expect(await levels(mirror.recordTick(lease, report, { code: 'reauthorize', message: 'x' }))).toEqual([
    full,
  ]);
  expect(await levels(mirror.renew(lease))).toEqual([relaxed]);
  await expect(mirror.addListingPage({ ...lease, fence: 99 }, listingPage([], 'x'))).rejects.toThrow(
    'taken over',
  );
  expect(level()).toBe(full);
});

test('a listing page that erases identity waits for the disk, so that a power cut does not restore it', async () => {
  const { list, collect, mirror, lease, database, rows } = await mirrorFixture();
  await list([[record('inv_1'), record('inv_2')]]);
  const { raw } = database;
  const ends: unknown[] = [];
  const exec = raw.exec.bind(raw);
  vi.spyOn(raw, 'exec').mockImplementation((sql) => {
    if (/COMMIT|ROLLBACK/.test(sql)) ends.push([sql, raw.pragma('synchronous', { simple: true })]);
    return exec(sql);
  });
  await collect([[record('inv_1')]], 'relist');
  ends.length = 0;
  const gone = record('inv_2', { investor_deactivated: true }, null);
  const { progress } = await mirror.addListingPage(lease, listingPage([gone], 'p2'));
  expect(ends).toEqual([
    ['ROLLBACK', 1],
    ['COMMIT', 2],
  ]);
  expect(progress.pages).toBe(2);
  expect(await rows('SELECT id, cause FROM erasures')).toEqual([{ id: 'usr_inv_2', cause: 'deactivated' }]);
  ends.length = 0;
  await mirror.addListingPage(lease, listingPage([gone], 'p3'));
  expect(ends, 'no identity is left to erase').toEqual([['COMMIT', 1]]);
});
