import { expect, onTestFinished, test, vi } from 'vitest';
import { WriteGate } from '../../src/daemon/write-gate.js';
import { buildIndexes } from '../../src/store/dialect/sqlite/indexes.js';
import { type PerformTask, performHere } from '../../src/store/dialect/sqlite/listing-work.js';
import { SqliteMirror } from '../../src/store/dialect/sqlite/mirror.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { writeLockOf } from '../../src/store/dialect/sqlite/write-lock.js';
import { cautious, migratedDatabase, mirrorFixture } from '../store/mirror-fixture.js';
import { record } from '../store/samples.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

test('a publication that meets the lock of another program waits for it, and is not prepared again', async () => {
  const database = migratedDatabase();
  buildIndexes(database.raw);
  const { lease, collect, rows } = await mirrorFixture({ database });
  const final = await collect([[record('inv_1')]]);
  const other = openSqlite(database.file);
  onTestFinished(() => other.close());
  const clock = new VirtualClock();
  const lock = writeLockOf(database.raw);
  const gate = new WriteGate(clock, undefined, lock);
  const tasks: string[] = [];
  const perform = (async (task: Parameters<PerformTask>[0]) => {
    tasks.push(task.kind);
    if (task.kind === 'count') other.raw.exec('BEGIN IMMEDIATE');
    return performHere(database.raw)(task);
  }) as PerformTask;
  const large = { rowsAtOnce: 0, start: () => ({ perform, end: async () => {} }) };
  const mirror = gate.guard(
    new SqliteMirror(database, { clock, leaseMs: 60_000 }, { ...large, step: (call) => gate.passing(call) }),
  );
  const publishing = mirror.publishListing(lease, final, cautious);
  await vi.waitFor(() => expect(gate.isClosed).toBe(true));
  other.raw.exec('COMMIT');
  await clock.advance(100);
  await publishing;
  expect(tasks.filter((kind) => kind === 'count')).toHaveLength(1);
  expect(await rows('SELECT id FROM investments')).toEqual([{ id: 'inv_1' }]);
});
