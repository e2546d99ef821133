import { existsSync } from 'node:fs';
import { basename, extname } from 'node:path';
import type { SqliteLocation } from '../../database-location.js';
import { type DatabaseDialect, pollMillis, type Snapshots } from '../port.js';

// Every method imports its file when it is called: a command loads only what it uses, and `query` not even the driver.

export function sqliteDialect({ file }: SqliteLocation): DatabaseDialect {
  const inSnapshot: Snapshots['take'] = async (work) => {
    const { sqliteSnapshot } = await import('./snapshot.js');
    return await sqliteSnapshot(file, work);
  };
  return {
    file,
    shared: false,
    comments: 'flat',
    sqlOf: ({ sql }) => sql,
    exists: async () => existsSync(file),
    async awaitsMigration() {
      const { awaitsMigration } = await import('./older-schema.js');
      return awaitsMigration(file);
    },
    async openReader(options) {
      const { openSqliteReader } = await import('./reader.js');
      return openSqliteReader(file, options);
    },
    async openReadings(clock) {
      const { ReadingProcesses } = await import('./reading-processes.js');
      const { readSqliteApart } = await import('./reader-apart.js');
      const processes = new ReadingProcesses(clock);
      return {
        read: (work, gone) => readSqliteApart(processes, file, ({ db }) => work(db), gone),
        close: () => processes.close(),
      };
    },
    inSnapshot,
    async inRowSnapshot(work) {
      const { sqliteRowSnapshot } = await import('./snapshot.js');
      return await sqliteRowSnapshot(file, work);
    },
    // Opening a file costs less than reading it, so nothing stays open.
    openSnapshots: async () => ({ take: inSnapshot, close: async () => {} }),
    // A file sends no notifications, so the feed is polled.
    openChangeSignal: async (db, clock) => ({
      next: (signal) => clock.wait(pollMillis, signal),
      async lastAssigned() {
        const { sql } = await import('../../query-builder.js');
        const { rows } = await sql<{
          seq: number;
        }>`SELECT seq FROM sqlite_sequence WHERE name = 'change_rows'`.execute(db);
        return Number(rows[0]?.seq ?? 0);
      },
      close: async () => {},
    }),
    async runQuery(sql, limits, clock, signal) {
      const { querySqlite } = await import('./query.js');
      return await querySqlite(file, sql, limits, clock, signal);
    },
    backupNames: { stem: basename(file, extname(file)), end: '.db' },
    async backUp(target, parts) {
      const { backUpSqlite } = await import('./backup.js');
      return await backUpSqlite(file, target, parts);
    },
    async restore(backup, parts, hooks) {
      const { restoreSqlite } = await import('./restore.js');
      return await restoreSqlite(backup, file, parts, hooks);
    },
  };
}
