import type { Config } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import { packageVersion } from '../runtime/package-version.js';
import { Budgets } from '../store/budgets.js';
import type { NoticeHooks } from '../store/committed-change.js';
import { sqliteConnection } from '../store/connection.js';
import { SqliteErasures } from '../store/dialect/sqlite/erasures.js';
import { migrateSqlite } from '../store/dialect/sqlite/migrate.js';
import { SqliteMirror } from '../store/dialect/sqlite/mirror.js';
import { openSqlite, type SqliteDatabase } from '../store/dialect/sqlite/open.js';
import { Inbox } from '../store/inbox.js';
import { Outbox } from '../store/outbox.js';
import { WriteGate } from './write-gate.js';

/** A holder that stopped renewing for this long has lost its source. Renewals come three times as often. */
export const leaseMillis = 30_000;

/** The receiver answers within a second or two, so it cannot wait longer for another program's lock. */
const inboxBusyMillis = 500;

/** A delivery that waits longer for the file to be rewritten is refused, and comes again: see `WriteGate`. */
const deliveryPatienceMillis = 5_000;

export interface OpenMirror {
  readonly database: SqliteDatabase;
  readonly mirror: SqliteMirror;
  readonly budgets: Budgets;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly erasures: SqliteErasures;
  /** Everything above that writes passes it. */
  readonly gate: WriteGate;
  close(): void;
}

export interface OpenMirrorParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly notices?: NoticeHooks;
  readonly identity: 'keep' | 'drop';
}

/** Opens and migrates. Throws `database_unusable`, `database_busy`, `database_full`; then nothing is left open. */
export function openMirror(database: Config['database'], parts: OpenMirrorParts): OpenMirror {
  const { clock, logger, notices, identity } = parts;
  const main = openSqlite(database.file);
  try {
    const { ran, backup } = migrateSqlite(main, { clock, version: packageVersion() });
    if (ran.length > 0)
      logger.info({ count: ran.length, ...(backup === null ? {} : { file: backup }) }, 'schema migrated');
    const mirror = new SqliteMirror(main, {
      clock,
      leaseMs: leaseMillis,
      identity,
      ...(notices === undefined ? {} : { notices }),
    });
    // A connection of its own: an accepted webhook must not wait for, or join, a page being written.
    const accepting = openSqlite(database.file, { busyTimeoutMs: inboxBusyMillis });
    const gate = new WriteGate(clock);
    const erasures = new SqliteErasures(main, clock);
    if (identity === 'drop' && erasures.dropAll() > 0)
      logger.info({ component: 'erasure' }, 'identity kept by an earlier configuration is erased');
    return {
      database: main,
      mirror: gate.guard(mirror),
      budgets: gate.guard(new Budgets(sqliteConnection(main))),
      inbox: gate.guard(new Inbox(sqliteConnection(accepting)), deliveryPatienceMillis),
      outbox: gate.guard(new Outbox(sqliteConnection(main))),
      ...{ erasures, gate },
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
