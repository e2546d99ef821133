import { afterAll, beforeAll, expect, test } from 'vitest';
import { postgresUrl } from '../../postgres/fresh-database.js';
import { Laboratory } from '../run-seed.js';

let laboratory: Laboratory;

beforeAll(async () => {
  laboratory = await Laboratory.open('fake', await postgresUrl());
}, 300_000);
afterAll(() => laboratory.close());

/** One, and a short one: `npm run simulate -- --database postgres` is the same with as many as one likes. */
test('on a server that survives its daemons and is shared by two of them no invariant breaks', async () => {
  const { violation, counters } = await laboratory.seed(27);
  expect(violation).toBeNull();
  for (const met of ['death:kill_without_shm', 'act:rival', 'seen:following', 'receiver:202'])
    expect(counters.of(met), met).toBeGreaterThan(0);
}, 600_000);
