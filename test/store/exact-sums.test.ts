import { expect } from 'vitest';
import type { FeedItem } from '../../src/domain/investment.js';
import type { Cents } from '../../src/domain/money.js';
import { test } from './both-databases.js';
import { mirrorFixture } from './mirror-fixture.js';
import { record, tombstone } from './samples.js';

const most = Number.MAX_SAFE_INTEGER as Cents;
const saturated = '9223372036854775807';

/** Investments of one investor in one round on one day, each of the largest possible amount. */
const huge = (count: number, cents: Cents = most): FeedItem[] =>
  Array.from({ length: count }, (_, at) =>
    record(`inv_${at}`, {
      investor_id: 'usr_1',
      committed_cents: cents,
      in_escrow_cents: 0 as Cents,
      raised_cents: 7 as Cents,
    }),
  );

const totals = async (rows: (sql: string) => Promise<unknown[]>) => {
  const found: unknown[] = [];
  for (const view of ['round_totals', 'daily_raised', 'investor_totals'])
    found.push(
      ...(await rows(
        `SELECT '${view}' AS view, investments, CAST(committed_cents AS TEXT) AS committed,
                CAST(raised_cents AS TEXT) AS raised, exact_cents FROM ${view} ORDER BY 1, 2`,
      )),
    );
  return found;
};

const row = (view: string, investments: number, committed: string, exact: string | null) => ({
  view,
  investments,
  committed,
  raised: String(7 * investments),
  exact_cents: exact,
});

const three = (investments: number, committed: string, sum: bigint | null) => {
  const exact = (escrow: string) =>
    sum === null ? null : `{"committed_cents":"${sum}",${escrow}"raised_cents":"${7 * investments}"}`;
  return [
    row('round_totals', investments, committed, exact('"in_escrow_cents":"0",')),
    row('daily_raised', investments, committed, exact('')),
    row('investor_totals', investments, committed, exact('')),
  ];
};

test('sums within 64 bits are exact integers', async () => {
  const { list, rows } = await mirrorFixture();
  await list([huge(1_000)]);
  expect(await totals(rows)).toEqual(three(1_000, String(1_000n * BigInt(most)), null));
});

test('a sum beyond 64 bits is flagged and exact: in a first listing, in deltas and after it shrinks again', async () => {
  const { list, delta, rows } = await mirrorFixture();
  await list([huge(1_100)]);
  expect(await totals(rows)).toEqual(three(1_100, saturated, 1_100n * BigInt(most)));
  await delta([
    record('inv_0', { investor_id: 'usr_1', committed_cents: 1 as Cents, raised_cents: 7 as Cents }),
  ]);
  expect(await totals(rows)).toEqual(three(1_100, saturated, 1_099n * BigInt(most) + 1n));
  // If SQLite had stored the sum as a floating-point number in between, it would be wrong by hundreds of cents.
  await delta(Array.from({ length: 200 }, (_, at) => tombstone(`inv_${at + 1}`)));
  expect(await totals(rows)).toEqual(three(900, String(899n * BigInt(most) + 1n), null));
});

test('a negative sum that a delta takes beyond 64 bits is flagged and exact', async () => {
  const { list, delta, rows } = await mirrorFixture();
  const least = -most as Cents;
  await list([huge(1_000, least)]);
  await delta(huge(1_100, least).slice(1_000));
  expect(await totals(rows)).toEqual(three(1_100, `-${saturated}`, -1_100n * BigInt(most)));
});

test('after a re-listing whose sums fit into 64 bits, the totals are integers again', async () => {
  const { list, rows } = await mirrorFixture();
  await list([huge(1_100)]);
  await list([huge(10)], 'relist', { share: 1, rows: 10_000, accepted: true });
  expect(await totals(rows)).toEqual(three(10, String(10n * BigInt(most)), null));
});

test('SQLite: when the sums of a source fit again, triggers maintain its totals again', async () => {
  const { store, list, rows } = await mirrorFixture();
  if (store.kind !== 'sqlite') return expect(store.kind).toBe('postgres');
  await list([huge(1_100)]);
  expect(await rows('SELECT count(*) AS n FROM beyond_sums')).toEqual([{ n: 1 }]);
  await list([huge(10)], 'relist', { share: 1, rows: 10_000, accepted: true });
  expect(await rows('SELECT count(*) AS n FROM beyond_sums')).toEqual([{ n: 0 }]);
});
