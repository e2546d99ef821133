import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { ForgottenLedger } from '../../src/daemon/forgotten-ledger.js';
import type { OpenMirror } from '../../src/daemon/mirror-parts.js';
import { openMirror } from '../../src/daemon/open-mirror.js';
import type { Instant } from '../../src/domain/instant.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { dialect, test } from '../store/both-databases.js';
import { acme } from '../store/samples.js';
import { freshFolder } from './daemon-fixture.js';

/** More changes than a purge reads at once. */
const manyChanges = 20_001;

test('purge: values of changes expire throughout the feed, also behind many changes of a clock that was ahead', async () => {
  const { mirror, run, numbers } = await opened();
  await mirror.mirror.open(acme, 'tester');
  const changes = `INSERT INTO change_rows (seq, source_no, about, id, kind, fields, at, old_values)
    SELECT i, (SELECT no FROM sources), 'update', 'post', 'changed', '[]', at, '{}' FROM`;
  await run(`${changes} (SELECT 1 AS i, '2026-10-01T00:00:00.000Z' AS at) AS old`);
  await run(`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i <= ${manyChanges})
    ${changes} (SELECT i, '2027-06-01T00:00:00.000Z' AS at FROM n) AS ahead`);
  await run(`${changes} (SELECT ${manyChanges + 2} AS i, '2026-10-02T00:00:00.000Z' AS at) AS old`);
  await run(`${changes} (SELECT ${manyChanges + 3} AS i, '2026-10-20T00:00:00.000Z' AS at) AS young`);
  const left = () =>
    numbers(
      'SELECT min(seq) AS first, max(seq) AS last, count(*) AS changes FROM change_rows WHERE old_values IS NOT NULL',
    );

  await mirror.upkeep.purgeHistory('2026-10-10T00:00:00.000Z' as Instant);
  expect(await left()).toEqual({ first: 2, last: manyChanges + 3, changes: manyChanges + 1 });
  await mirror.upkeep.purgeHistory('2026-11-01T00:00:00.000Z' as Instant);
  expect(await left()).toEqual({ first: 2, last: manyChanges + 1, changes: manyChanges });
  await mirror.upkeep.purgeHistory('2027-07-01T00:00:00.000Z' as Instant);
  expect(await left()).toEqual({ first: null, last: null, changes: 0 });
});

interface Opened {
  readonly mirror: OpenMirror;
  /** Runs a statement on another connection. */
  run(sql: string): Promise<void>;
  /** Returns the row of a query of numbers. */
  numbers(sql: string): Promise<Record<string, number | null>>;
}

/** Opens a mirror as a daemon does. */
async function opened(): Promise<Opened> {
  if (dialect() === 'sqlite') {
    const file = join(freshFolder(), 'mirror.db');
    const mirror = await mirrorAt({ kind: 'sqlite', file });
    const { raw, close } = openSqlite(file);
    onTestFinished(() => close());
    return {
      mirror,
      run: async (sql) => void raw.exec(sql),
      numbers: async (sql) => raw.prepare<[], Record<string, number | null>>(sql).get() ?? {},
    };
  }
  const { url } = await freshDatabase();
  const mirror = await mirrorAt({ kind: 'postgres', url, password: null } as never);
  const { pool, close } = await openPostgres(url, { max: 1 });
  onTestFinished(() => close());
  return {
    mirror,
    run: async (sql) => void (await pool.query(sql)),
    numbers: async (sql) => (await pool.query<Record<string, number | null>>(sql)).rows[0] ?? {},
  };
}

async function mirrorAt(location: Parameters<typeof openMirror>[0]): Promise<OpenMirror> {
  const mirror = await openMirror(location, {
    ...{ clock: systemClock, logger: silentLogger, identity: 'keep' },
    ledger: new ForgottenLedger(join(freshFolder(), 'forget.ledger')),
  });
  onTestFinished(() => mirror.close());
  return mirror;
}
