import { defined } from '../../../domain/defined.js';
import { Fault } from '../../../domain/fault.js';
import { type PostgresLocation, secretUrlOf } from '../../database-location.js';
import { abandonedReading, type DatabaseDialect, type ReaderOptions } from '../port.js';
import { withReader } from '../with-reader.js';
import type { PostgresReader } from './reader.js';

/**
 * Each reading opens up to two connections of its own. A user who opens many pages at once must not use up the
 * connections of the server.
 */
const readingsMax = 10;
/** No page takes that long. Without a limit, those whose connection fell silent would use up the ten for ever. */
const readingMillis = 2 * 60_000;

// Every method imports its file when it is called: what imports this one does not load `pg` yet.

export function postgresDialect(place: PostgresLocation, answerMillis = readingMillis): DatabaseDialect {
  const openReader = async ({ lockMillis, ...options }: ReaderOptions = {}) => {
    const { openPostgresReader } = await import('./reader.js');
    const { shortQueries } = await import('./open.js');
    const limits = options.answerMillis === undefined ? {} : shortQueries(options.answerMillis);
    return await openPostgresReader(place, {
      ...options,
      ...limits,
      ...defined({ lockTimeoutMs: lockMillis }),
    });
  };
  return {
    file: null,
    shared: true,
    comments: 'nested',
    sqlOf: ({ sql, postgres = sql }) => postgres,
    async awaitsMigration() {
      const { appliedMigrations } = await import('./open.js');
      const { newestMigration } = await import('../../newest-migration.js');
      return (await appliedMigrations(place)) < newestMigration('postgres');
    },
    async exists() {
      const { isMigrated } = await import('./open.js');
      return await isMigrated(place);
    },
    openReader,
    // The server is a process of its own, so reading does not block the event loop.
    openReadings: async () => {
      const { Turns } = await import('../../../runtime/turns.js');
      const { openPostgresReader } = await import('./reader.js');
      const { shortQueries } = await import('./open.js');
      const turns = new Turns(readingsMax);
      const limits = shortQueries(answerMillis);
      const running = new Set<PostgresReader>();
      let isClosed = false;
      return {
        // A query that runs goes on: the server would run it to its end for a connection that is closed, too.
        read: (work, gone) =>
          turns.take(async () => {
            if (gone?.aborted === true) throw abandonedReading();
            if (isClosed) throw new Fault('stopped', 'the mirror is not read any more');
            const reader = await openPostgresReader(place, limits);
            running.add(reader);
            return await withReader(Promise.resolve(reader), work).finally(() => running.delete(reader));
          }),
        // A server that does not answer would keep the process up.
        close: async () => {
          isClosed = true;
          for (const reader of running) reader.abandon();
        },
      };
    },
    async inSnapshot(work) {
      const { postgresSnapshot } = await import('./snapshot.js');
      return await postgresSnapshot(await secretUrlOf(place), work);
    },
    async inRowSnapshot(work) {
      const { postgresRowSnapshot } = await import('./snapshot.js');
      return await postgresRowSnapshot(await secretUrlOf(place), work);
    },
    async openSnapshots() {
      const { KeptSnapshots } = await import('./snapshot.js');
      return new KeptSnapshots(() => secretUrlOf(place));
    },
    async openChangeSignal(db, clock) {
      const { ListenNotifySignal } = await import('./listen-notify.js');
      return await ListenNotifySignal.open(place, db, clock);
    },
    async runQuery(sql, limits, clock, signal) {
      const { queryPostgres } = await import('./query.js');
      return await queryPostgres(await secretUrlOf(place), sql, limits, clock, signal);
    },
    backupNames: { stem: databaseName(place.url), end: '.pgbackup' },
    async backUp(target, parts) {
      const { backUpPostgres } = await import('./backup.js');
      return await backUpPostgres(place, target, parts);
    },
    async restore(backup, parts, hooks) {
      const { restorePostgres } = await import('./restore.js');
      return await restorePostgres(backup, place, parts, hooks);
    },
  };
}

/** Returns the name of the database as part of a file name. */
function databaseName(url: string): string {
  const name = URL.parse(url) !== null ? new URL(url).pathname.slice(1) : '';
  return decodeURIComponent(name).replaceAll(/[^\w.-]/g, '_') || 'mirror';
}
