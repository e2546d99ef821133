import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { SourceName } from '../../src/domain/ids.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const speed = 20;

/** A clock that runs faster than time. Waits longer than that of a call for the lock never end unless interrupted. */
const hasty: Clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * speed,
  wait: (millis, signal) => systemClock.wait(millis <= 2_000 ? millis / speed : 86_400_000, signal),
};

test('a tick that failed because another program had the lock is repeated once the lock is free, not after its backoff', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 10, limits: false });
  const folder = freshFolder();
  const daemon = await startDaemon({ ...partsFor(configFor(sandbox, { folder })), clock: hasty });
  onTestFinished(() => daemon.close());
  const { sync } = daemon.engine;
  await sync.idle();
  const ended: string[] = [];
  sync.onTick((_, { report }) => void ended.push(report.outcome));
  const other = openSqlite(join(folder, 'mirror.db'));
  onTestFinished(() => other.close());
  other.raw.exec('BEGIN IMMEDIATE');
  sync.nudge('c0' as SourceName);
  // Each backoff is longer than the one before: the third does not end.
  const failed = ['failed', 'failed', 'failed'];
  await expect.poll(() => ended).toEqual(failed);
  other.raw.exec('COMMIT');
  await expect.poll(() => ended).toEqual([...failed, 'done']);
});
