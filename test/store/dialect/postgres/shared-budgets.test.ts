import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BudgetRule } from '../../../../src/client/budget.js';
import { Budgets } from '../../../../src/client/budgets.js';
import { PlatformTime } from '../../../../src/client/platform-time.js';
import type { BudgetStore } from '../../../../src/client/ports.js';
import { isFault } from '../../../../src/domain/fault.js';
import { systemClock } from '../../../../src/runtime/clock.js';
import { silentLogger } from '../../../../src/runtime/logger.js';
import { SharedBudgets } from '../../../../src/store/budgets.js';
import { postgresConnection } from '../../../../src/store/connection.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { type FreshDatabase, migratedDatabase } from '../../../postgres/fresh-database.js';

const rule: BudgetRule = { limit: 40, windowMillis: 3_600_000, reserve: 10 };
const signal = new AbortController().signal;

let fresh: FreshDatabase;
let database: PostgresDatabase;

beforeEach(async () => {
  fresh = await migratedDatabase();
  database = await openPostgres(fresh.url);
});

afterEach(async () => {
  await database.close();
  await fresh.drop();
});

/** Returns the budgets of one host. */
function host(store: BudgetStore = new SharedBudgets(postgresConnection(database))): Budgets {
  const time = new PlatformTime(systemClock);
  return new Budgets({ store, time, logger: silentLogger, askTime: async () => {} });
}

/** Returns how many of the requests were allowed. */
async function spent(budgets: Budgets, times: number, urgency: 'routine' | 'webhook'): Promise<number> {
  const asked = Array.from({ length: times }, () =>
    budgets.take('k', rule, urgency, signal).then(
      () => true,
      (error: unknown) => {
        if (isFault(error, 'rate_limited')) return false;
        throw error;
      },
    ),
  );
  return (await Promise.all(asked)).filter((out) => out).length;
}

test('hosts that spend concurrently share one budget exactly, including its reserve', async () => {
  const [one, two] = [host(), host()];
  const routine = await Promise.all([spent(one, 25, 'routine'), spent(two, 25, 'routine')]);
  expect(routine[0] + routine[1]).toBe(30);
  const urgent = await Promise.all([spent(one, 8, 'webhook'), spent(two, 8, 'webhook')]);
  expect(urgent[0] + urgent[1]).toBe(10);
  // The host that did not make the last request sees the shared count with its next one.
  expect((await spent(one, 1, 'webhook')) + (await spent(two, 1, 'webhook'))).toBe(0);
  expect((await two.quota('k', rule)).left).toBe(0);
});

test('a block that the platform imposes on one host applies to the other', async () => {
  const [one, two] = [host(), host()];
  expect(await spent(two, 1, 'routine')).toBe(1);
  await one.block('k', rule, 600_000, true);
  // The other host learns of it with its next request, because its stored state is out of date.
  expect(await spent(two, 1, 'webhook')).toBe(0);
});

test('requests continue when the budget database fails, because the platform also counts them', async () => {
  const away: BudgetStore = {
    load: () => Promise.reject(new Error('away')),
    save: () => Promise.reject(new Error('away')),
    swap: () => Promise.reject(new Error('away')),
  };
  expect(await spent(host(away), 35, 'routine')).toBe(30);
});
