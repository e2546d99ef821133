import { afterAll, beforeAll, expect, test } from 'vitest';
import { postgresUrl } from '../../postgres/fresh-database.js';
import { Laboratory } from '../run-seed.js';

let laboratory: Laboratory;

beforeAll(async () => {
  laboratory = await Laboratory.open('fake', await postgresUrl());
});
afterAll(() => laboratory.close());

/** A single short run; `npm run simulate -- --database postgres` runs as many as wanted. */
test('a simulated PostgreSQL that outlives its daemons and is shared by two breaks no invariant', async () => {
  const { violation, counters } = await laboratory.seed(436);
  expect(violation).toBeNull();
  for (const met of ['death:kill_without_shm', 'act:rival', 'seen:following', 'receiver:202'])
    expect(counters.of(met), met).toBeGreaterThan(0);
}, 600_000);
