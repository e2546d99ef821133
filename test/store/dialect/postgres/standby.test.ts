import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Instant } from '../../../../src/domain/instant.js';
import { systemClock } from '../../../../src/runtime/clock.js';
import { migratePostgres } from '../../../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { queryPostgres } from '../../../../src/store/dialect/postgres/query.js';
import type { QueryLimits } from '../../../../src/store/reads/query.js';
import { startPostgres } from '../../../postgres/server.js';

test('PostgreSQL: a standby runs a query of the present, and names what takes the primary', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.close());
  const postgres = await openPostgres(server.url);
  await migratePostgres(postgres, { clock: systemClock, version: '0' });
  await postgres.close();
  await server.stop();
  // Without a primary to follow, it stays where it is.
  writeFileSync(join(server.data, 'standby.signal'), '', { mode: 0o666 });
  await server.start();

  const ask = async (limits: Partial<QueryLimits>): Promise<unknown> => {
    const all: QueryLimits = { timeoutMs: 60_000, rowsMax: null, ...limits };
    const sql = 'SELECT count(*) AS rows FROM investments';
    const query = await queryPostgres(server.url, sql, all, systemClock, new AbortController().signal);
    const found: unknown[] = [];
    for await (const row of query.rows) found.push(row);
    return found[0];
  };
  expect(await ask({})).toEqual([0]);
  const refused = (what: string) => ({
    code: 'usage',
    message: `the server is a standby, which cannot ${what}`,
    about: { hint: 'Name the primary. A standby runs `rosterd query` without --as-of.' },
  });
  const asOf = '2026-10-10T00:00:00.000Z' as Instant;
  await expect(ask({ asOf })).rejects.toMatchObject(refused('show a past state'));
  await expect(ask({ identity: false })).rejects.toMatchObject(refused('withhold names'));
  await expect(ask({ audit: false })).rejects.toMatchObject(refused('check which tables a statement reads'));
});
