import type { Config } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import { packageVersion } from '../runtime/package-version.js';
import { Budgets } from '../store/budgets.js';
import type { QueueNotices } from '../store/committed-change.js';
import { sqliteConnection } from '../store/connection.js';
import { migrateSqlite } from '../store/dialect/sqlite/migrate.js';
import { SqliteMirror } from '../store/dialect/sqlite/mirror.js';
import { openSqlite, type SqliteDatabase } from '../store/dialect/sqlite/open.js';
import { Inbox } from '../store/inbox.js';

/** A holder that stopped renewing for this long has lost its source. Renewals come three times as often. */
export const leaseMillis = 30_000;

/** The receiver answers within a second or two, so it cannot wait longer for another program's lock. */
const inboxBusyMillis = 500;

export interface OpenMirror {
  readonly database: SqliteDatabase;
  readonly mirror: SqliteMirror;
  readonly budgets: Budgets;
  readonly inbox: Inbox;
  close(): void;
}

export interface OpenMirrorParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly queueNotices?: QueueNotices;
}

/** Opens and migrates. Throws `database_unusable`, `database_busy`, `database_full`; then nothing is left open. */
export function openMirror(database: Config['database'], parts: OpenMirrorParts): OpenMirror {
  const { clock, logger, queueNotices } = parts;
  const main = openSqlite(database.file);
  try {
    const { ran, backup } = migrateSqlite(main, { clock, version: packageVersion() });
    if (ran.length > 0)
      logger.info({ count: ran.length, ...(backup === null ? {} : { file: backup }) }, 'schema migrated');
    const mirror = new SqliteMirror(main, {
      clock,
      leaseMs: leaseMillis,
      ...(queueNotices === undefined ? {} : { queueNotices }),
    });
    // A connection of its own: an accepted webhook must not wait for, or join, a page being written.
    const accepting = openSqlite(database.file, { busyTimeoutMs: inboxBusyMillis });
    return {
      database: main,
      mirror,
      budgets: new Budgets(sqliteConnection(main)),
      inbox: new Inbox(sqliteConnection(accepting)),
      close: () => {
        accepting.close();
        main.close();
      },
    };
  } catch (error) {
    main.close();
    throw error;
  }
}
