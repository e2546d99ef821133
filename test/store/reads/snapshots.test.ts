import { expect, onTestFinished, test } from 'vitest';
import type { DatabaseLocation } from '../../../src/store/database-location.js';
import { openPostgres } from '../../../src/store/dialect/postgres/open.js';
import { openSnapshots } from '../../../src/store/reads/snapshot.js';
import { migratedDatabase } from '../../postgres/fresh-database.js';
import { freshMirror } from '../support/mirror.js';

async function snapshotsOf(place: DatabaseLocation) {
  const snapshots = await openSnapshots(place);
  onTestFinished(() => snapshots.close());
  return snapshots;
}

test('repeated snapshots of a server reuse one connection and reconnect after it was cut', async () => {
  const { url } = await migratedDatabase();
  const admin = await openPostgres(url);
  onTestFinished(() => admin.close());
  const snapshots = await snapshotsOf({ kind: 'postgres', url, password: null });
  const session = () =>
    snapshots.take(async (ask) => (await ask<{ pid: number }>`SELECT pg_backend_pid() AS pid`)[0]?.pid);
  const first = await session();
  expect(first).toBeGreaterThan(0);
  expect(await session()).toBe(first);
  await expect(snapshots.take((ask) => ask`SELECT nothing FROM nowhere`)).rejects.toThrow(
    'lacks the table or view nowhere',
  );
  const second = await session();
  expect(second).not.toBe(first);
  // The connection is terminated: one snapshot may fail, the next one succeeds.
  await admin.pool.query('SELECT pg_terminate_backend($1)', [second]);
  await session().catch(() => {});
  expect(await session()).toBeGreaterThan(0);
});

test('each snapshot of a SQLite file opens it again', async () => {
  const { file } = freshMirror();
  const snapshots = await snapshotsOf({ kind: 'sqlite', file });
  for (let look = 0; look < 2; look += 1)
    expect(await snapshots.take((ask) => ask`SELECT count(*) AS n FROM sources`)).toEqual([{ n: 0 }]);
});
