import { expect, test } from 'vitest';
import { postgresStore } from '../../postgres-store.js';

test.each<[string, unknown]>([
  ['9007199254740991::bigint', 9_007_199_254_740_991],
  ['9007199254740992::bigint', '9007199254740992'],
  ['(-9007199254740993)::bigint', '-9007199254740993'],
  ['sum(n) FROM (VALUES (9007199254740991::bigint), (2)) AS v (n)', '9007199254740993'],
  ['12.50::numeric', '12.50'],
  ['12::numeric', 12],
  ["'NaN'::numeric", 'NaN'],
  ['7::int', 7],
  ['true', 1],
  ['false', 0],
  ['NULL::boolean', null],
  ["'2026-10-01T00:00:00Z'::timestamptz AT TIME ZONE 'UTC'", '2026-10-01 00:00:00'],
  ["'2026-10-01'::date", '2026-10-01'],
  [`'{"a": 1}'::json`, '{"a": 1}'],
])('a value of PostgreSQL is read as exactly as it is stored: %s', async (sql, value) => {
  const { pool } = await postgresStore();
  const { rows } = await pool.query({ text: `SELECT ${sql}`, rowMode: 'array' });
  expect(rows).toEqual([[value]]);
});
