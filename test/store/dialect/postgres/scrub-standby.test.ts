import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { InvestmentId } from '../../../../src/domain/ids.js';
import { systemClock } from '../../../../src/runtime/clock.js';
import { PostgresErasures } from '../../../../src/store/dialect/postgres/erasures.js';
import { migratePostgres } from '../../../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { startPostgres } from '../../../postgres/server.js';
import { mirrorFixture } from '../../mirror-fixture.js';
import { identity, record } from '../../samples.js';

/**
 * Connects to the server as a standby does that has no replication slot. Returns a function that sends its oldest
 * transaction, as `hot_standby_feedback` makes a standby do; 0 for none.
 */
async function standbyOf(url: string): Promise<(xmin: number) => void> {
  // @types/pg does not know this parameter of the protocol, which the driver passes on.
  const standby = new pg.Client({ connectionString: url, replication: 'true' } as pg.ClientConfig);
  standby.on('error', () => {});
  await standby.connect();
  onTestFinished(() => void standby.connection.stream.destroy());
  const { rows } = await standby.query<{ xlogpos: string }>('IDENTIFY_SYSTEM');
  const started = new Promise((resolve) => standby.connection.once('replicationStart', resolve));
  standby.query(`START_REPLICATION PHYSICAL ${rows[0]?.xlogpos}`).catch(() => {});
  await started;
  return (xmin) => {
    const message = Buffer.alloc(30);
    message.write('d', 0);
    message.writeInt32BE(29, 1);
    message.write('h', 5);
    message.writeUInt32BE(xmin, 14);
    standby.connection.stream.write(message);
  };
}

test('PostgreSQL: a query on a standby without a replication slot blocks the scrub, which would keep its rows', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.close());
  const postgres = await openPostgres(server.url);
  onTestFinished(() => postgres.close());
  await migratePostgres(postgres, { clock: systemClock, version: '0' });
  const { list, clock } = await mirrorFixture({ store: { kind: 'postgres', postgres } });
  const erasures = new PostgresErasures(postgres, clock);
  await list([[record('inv_1', {}, identity('Canary')), record('inv_2')]]);
  const value = async (sql: string) =>
    (await postgres.pool.query({ text: sql, rowMode: 'array' })).rows[0]?.[0];
  const file = async () =>
    readFileSync(
      join(server.data, String(await value("SELECT pg_relation_filepath('rosterd_identity.identity_rows')"))),
    );

  const feedBack = await standbyOf(server.url);
  const oldest = Number(await value('SELECT pg_snapshot_xmin(pg_current_snapshot())::text'));
  const reported = () => value('SELECT backend_xmin::text FROM pg_stat_replication');
  feedBack(oldest);
  await expect.poll(reported).toBe(String(oldest));
  await erasures.forget('inv_1' as InvestmentId);
  expect(await erasures.scrub()).toMatchObject({ kind: 'blocked', erasures: 1 });

  feedBack(0);
  await expect.poll(reported).toBeNull();
  expect(await erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
  await postgres.pool.query('CHECKPOINT');
  expect((await file()).includes('Canary')).toBe(false);
});
