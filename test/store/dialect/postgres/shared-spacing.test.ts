import { afterEach, beforeEach, expect, test } from 'vitest';
import { tokenRule } from '../../../../src/client/budget.js';
import { Budgets } from '../../../../src/client/budgets.js';
import { PlatformTime } from '../../../../src/client/platform-time.js';
import { isFault } from '../../../../src/domain/fault.js';
import type { SourceName } from '../../../../src/domain/ids.js';
import type { Clock } from '../../../../src/runtime/clock.js';
import { silentLogger } from '../../../../src/runtime/logger.js';
import { SharedBudgets } from '../../../../src/store/budgets.js';
import { postgresConnection } from '../../../../src/store/connection.js';
import { PostgresFleet } from '../../../../src/store/dialect/postgres/fleet.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import {
  isPlenty,
  type SharedBudget,
  waitAfter,
  webhookSpacing,
} from '../../../../src/sync/webhook-spacing.js';
import { type FreshDatabase, migratedDatabase } from '../../../postgres/fresh-database.js';
import { stopHeartbeatClock } from '../../../postgres/stop-heartbeat-clock.js';

const hour = 3_600_000;
const key = 'token:shared';
const rule = tokenRule(120);
const signal = new AbortController().signal;

let fresh: FreshDatabase;
let database: PostgresDatabase;
let members: Host[];

beforeEach(async () => {
  fresh = await migratedDatabase();
  database = await openPostgres(fresh.url);
  await stopHeartbeatClock(database.pool);
  members = [];
});

afterEach(async () => {
  await Promise.all(members.map(({ fleet }) => fleet.close()));
  await database.close();
  await fresh.drop();
});

/** The time of the platform and of all hosts. The heartbeats are on the server's clock, which stands still. */
class HourClock implements Clock {
  millis = Date.parse('2026-11-23T12:00:00.000Z');
  now(): number {
    return this.millis;
  }
  monotonic(): number {
    return this.millis;
  }
  async wait(): Promise<void> {}
}

interface Host {
  readonly source: SourceName;
  readonly fleet: PostgresFleet;
  readonly budgets: Budgets;
  /** When its source ticked. */
  readonly ticks: number[];
}

async function host(name: string, clock: Clock): Promise<Host> {
  const fleet = new PostgresFleet(
    name,
    { server: fresh.url, database, version: '0.0.0-test' },
    { onMessage: () => {}, onGap: () => {} },
  );
  const source = `source-of-${name}` as SourceName;
  await fleet.join([source]);
  const store = new SharedBudgets(postgresConnection(database));
  const budgets = new Budgets({
    ...{ store, logger: silentLogger },
    time: new PlatformTime(clock),
    askTime: async () => {},
  });
  const made = { source, fleet, budgets, ticks: [] };
  members.push(made);
  return made;
}

/** One heartbeat and, if the spacing allows it, one tick of the host's source, for which webhooks arrive without end. */
async function turn({ source, fleet, budgets, ticks }: Host, now: number, reads: boolean): Promise<void> {
  const limits = (sharing: number, elsewhere: number) =>
    budgets
      .left(key, rule)
      .map((left): SharedBudget => ({ ...left, key, kind: 'token', sharing, elsewhere }));
  const beat = await fleet.beat(limits(1, 0).every(isPlenty) ? [] : [source]);
  const others = new Set(beat?.members.flatMap(({ alive, spaced }) => (alive ? spaced : [])));
  others.delete(source);
  if (others.size > 0) await budgets.refresh(key, rule);
  const spacing = webhookSpacing(limits(1, reads ? others.size : 0));
  if (waitAfter(spacing, now - (ticks.at(-1) ?? Number.NEGATIVE_INFINITY)) > 0) return;
  try {
    await budgets.take(key, rule, 'webhook', signal);
    ticks.push(now);
  } catch (error) {
    if (!isFault(error, 'rate_limited')) throw error;
  }
}

/** Plays an hour in steps of half a minute. Returns the times of all requests, in minutes of that hour. */
async function hourOf(active: readonly Host[], clock: HourClock, reads = true): Promise<number[]> {
  const begun = clock.millis;
  for (; clock.millis < begun + hour; clock.millis += 30_000)
    for (const one of active) await turn(one, clock.millis, reads);
  return active.flatMap(({ ticks }) => ticks.map((at) => (at - begun) / 60_000)).sort((a, b) => a - b);
}

test('three members with one token divide its quota: it lasts to the end of the hour and is never exceeded', async () => {
  const clock = new HourClock();
  const three = [await host('one', clock), await host('two', clock), await host('three', clock)];
  const requests = await hourOf(three, clock);
  expect(requests.length).toBeGreaterThan(rule.limit * 0.9);
  expect(requests.length).toBeLessThanOrEqual(rule.limit);
  expect(requests.filter((minute) => minute < 30).length).toBeLessThan(rule.limit * 0.8);
  expect(requests.at(-1)).toBeGreaterThan(54);
  for (const { ticks } of three) expect(ticks.length).toBeGreaterThan(rule.limit * 0.25);
});

test('a member that is the only active one of three may use nearly the whole quota', async () => {
  const clock = new HourClock();
  const [one] = [await host('one', clock), await host('two', clock), await host('three', clock)];
  const requests = await hourOf([one as Host], clock);
  expect(requests.length).toBeGreaterThan(rule.limit * 0.9);
  expect(requests.at(-1)).toBeGreaterThan(54);
});

test('members that did not read each other would spend the quota sooner, without exceeding it', async () => {
  const clock = new HourClock();
  const three = [await host('one', clock), await host('two', clock), await host('three', clock)];
  const requests = await hourOf(three, clock, false);
  expect(requests.length).toBeLessThanOrEqual(rule.limit);
  expect(requests.filter((minute) => minute < 30).length).toBeGreaterThan(rule.limit * 0.85);
  expect(requests.at(-1)).toBeLessThan(54);
});

test('a fresh member counts what the others have spent, and a dead one no longer counts', async () => {
  const clock = new HourClock();
  const [one, two] = [await host('one', clock), await host('two', clock)];
  for (let request = 0; request < 40; request += 1)
    for (const { budgets } of [one, two]) await budgets.take(key, rule, 'webhook', signal);
  const fresh = await host('three', clock);
  for (const { fleet, source } of [one, two]) await fleet.beat([source]);
  await fresh.budgets.take(key, rule, 'webhook', signal);
  expect(fresh.budgets.left(key, rule).map(({ left }) => left)).toEqual([39, 39]);
  const others = async () =>
    (await fresh.fleet.beat([]))?.members.flatMap(({ alive, spaced }) => (alive ? spaced : [])).sort();
  expect(await others()).toEqual([one.source, two.source].sort());
  await database.pool.query("UPDATE fleet_members SET seen_at = fleet_clock(8001) WHERE member = 'two'");
  expect(await others()).toEqual([one.source]);
  // The member that made its last request before sees what the fresh one spent.
  await one.budgets.refresh(key, rule);
  expect(one.budgets.left(key, rule).map(({ left }) => left)).toEqual([39, 39]);
});
