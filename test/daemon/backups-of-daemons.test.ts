import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import { startEngine } from '../../src/daemon/engine.js';
import { scheduleBackups } from '../../src/daemon/start-schedules.js';
import { membershipOf, startWork } from '../../src/daemon/start-work.js';
import { alone } from '../../src/fleet/membership.js';
import { backupsSeen } from '../../src/reading/backups.js';
import { Lifecycle } from '../../src/runtime/lifecycle.js';
import { dialectFor } from '../../src/store/dialect/dialect-for.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { configFor, freshFolder, partsFor, readerOf, sandboxFor } from './daemon-fixture.js';

const hour = 3_600_000;

test('a daemon makes a verified backup, and status and metrics report it', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 60 });
  const folder = freshFolder();
  const plain = configFor(sandbox, { folder });
  const config = { ...plain, backup: { everyMillis: 24 * hour, keep: 2, folder: join(folder, 'backups') } };
  const first = await startDaemon(partsFor(plain));
  await first.engine.sync.idle();
  await first.close();
  const daemon = await startDaemon(partsFor(config));
  await expect.poll(() => backupsSeen(config, Date.now())?.count).toBe(1);
  const seen = backupsSeen(config, Date.now());
  const file = seen?.newest_file ?? '';
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(config.backup.folder).mode & 0o777).toBe(0o700);
  const copy = new Sqlite(file, { readonly: true });
  const count = 'SELECT count(*) FROM investments';
  expect(copy.prepare(count).pluck().get()).toBe(readerOf(config).prepare(count).pluck().get());
  copy.close();
  const status = await (await fetch(`${daemon.consoleUrl}/status.json`)).json();
  expect(status).toMatchObject({ backup: { count: 1, newest_at: seen?.newest_at, overdue: false } });
  const metrics = await (await fetch(`${daemon.consoleUrl}/metrics`)).text();
  expect(metrics).toMatch(/^rosterd_backup_last_success_timestamp_seconds \d+$/m);
  expect(backupsSeen(config, Date.now() + 26 * hour)).toMatchObject({ overdue: true });
  await daemon.close();
});

test('in a fleet, a member that does not lead deletes old backups of its host by the clocks of host and database', async () => {
  const database = await migratedDatabase();
  onTestFinished(() => database.drop());
  const sandbox = await sandboxFor({ companies: 1, records: 5, limits: false });
  const folder = freshFolder();
  const plain = configFor(sandbox, { folder, database: database.url });
  const config = { ...plain, backup: { everyMillis: hour, keep: 2, folder: join(folder, 'backups') } };
  mkdirSync(config.backup.folder);
  const { stem, end } = dialectFor(config.database).backupNames;
  writeFileSync(join(config.backup.folder, `${stem}-20260101T000000Z${end}`), 'of a year in which it led');
  const engine = await startEngine(partsFor(config));
  const lifecycle = new Lifecycle();
  onTestFinished(async () => {
    await lifecycle.close();
    await engine.close();
  });
  scheduleBackups(
    engine,
    partsFor(config),
    { ...alone, leads: false, isLed: true, living: 2, backedUpAt: Date.now() },
    lifecycle,
  );
  await expect.poll(() => readdirSync(config.backup.folder)).toEqual([]);

  const membership = membershipOf(engine);
  await startWork({ engine, parts: partsFor(config), membership, drain: null }, lifecycle);
  expect(membership.backedUpAt).toBeNull();
  await withClient(database.url, (leader) =>
    expect
      .poll(
        async () => {
          await leader.query(
            `SELECT pg_notify('rosterd_public', '{"kind":"backed_up","from":"the leader"}')`,
          );
          return membership.backedUpAt;
        },
        { timeout: 20_000 },
      )
      .not.toBeNull(),
  );
});
