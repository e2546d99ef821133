import { expect, test } from 'vitest';
import { PostgresMirror } from '../../src/store/dialect/postgres/mirror.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { SteppingClock } from '../store/mirror-fixture.js';
import { acme } from '../store/samples.js';
import { audited, installAudit } from './fence-audit.js';
import { migratedDatabase } from './fresh-database.js';

test('the audit of a fleet finds a write by a process whose source was taken over, and no other', async () => {
  const { url, drop } = await migratedDatabase();
  await installAudit(url);
  const clock = new SteppingClock();
  const life = async (name: string) => {
    const named = new URL(url);
    named.searchParams.set('application_name', name);
    const database = await openPostgres(named.href);
    return { database, mirror: new PostgresMirror(database, { clock, leaseMs: 1_000 }) };
  };
  const [early, late] = [await life('life-1'), await life('life-2')];
  const start = { kind: 'first', fingerprint: 'f1', restarts: 0, notBefore: null } as const;
  const { lease } = await early.mirror.open(acme, 'one');
  await early.mirror.beginListing(lease, start);
  clock.millis += 60_000;
  const taken = await late.mirror.open(acme, 'two');
  await late.mirror.beginListing(taken.lease, start);
  expect(await audited(url)).toMatchObject({ takings: 2, handovers: 1, stale: [] });

  await early.database.pool.query("UPDATE sources SET last_error = 'written late'");
  expect((await audited(url)).stale).toEqual([
    'sources of source 1 under fence 2 by life-1, which is of life-2',
  ]);
  await Promise.all([early.database.close(), late.database.close()]);
  await drop();
});
