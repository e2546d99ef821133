import { statSync } from 'node:fs';
import { defined } from '../domain/defined.js';
import type { Instant } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Interruption } from '../runtime/interruption.js';
import { packageVersion } from '../runtime/package-version.js';
import { isProcessGone } from '../runtime/process-identity.js';
import { AfterSyncHooks } from '../store/after-sync.js';
import { Alerts } from '../store/alerts.js';
import { AuditLog } from '../store/audit-log.js';
import { Budgets } from '../store/budgets.js';
import { sqliteConnection } from '../store/connection.js';
import type { SqliteLocation } from '../store/database-location.js';
import { removeBackups, removeErasedBackups } from '../store/dialect/sqlite/backups.js';
import { freeCachedPages } from '../store/dialect/sqlite/cached-pages.js';
import { busyTimeoutMsDefault } from '../store/dialect/sqlite/connect.js';
import { SqliteDimensions } from '../store/dialect/sqlite/dimensions.js';
import { SqliteErasingCommits } from '../store/dialect/sqlite/erase-source.js';
import { SqliteErasures } from '../store/dialect/sqlite/erasures.js';
import { SqliteFollowedSources } from '../store/dialect/sqlite/followed-sources.js';
import { IdleCheckpoints } from '../store/dialect/sqlite/idle-checkpoints.js';
import { ListingProcess } from '../store/dialect/sqlite/listing-process.js';
import { SqliteMirror } from '../store/dialect/sqlite/mirror.js';
import { openSqlite } from '../store/dialect/sqlite/open.js';
import type { ListingHelper } from '../store/dialect/sqlite/prepare-publication.js';
import { forgetValues, purgeHistory, purgeTicks } from '../store/dialect/sqlite/purge.js';
import { retryBusy } from '../store/dialect/sqlite/retry-busy.js';
import { waitingAtMost } from '../store/dialect/sqlite/transaction.js';
import { upgradeSqlite } from '../store/dialect/sqlite/upgrade.js';
import { StoredSourceEraser } from '../store/erase-source.js';
import type { Scrubbed } from '../store/erasures.js';
import { OperatorRequests } from '../store/operator-requests.js';
import { Outbox } from '../store/outbox.js';
import { Pauses } from '../store/pauses.js';
import { scrubApart } from '../store/scrub.js';
import { openGatedInbox } from './gated-inbox.js';
import { inBatches, inSteps } from './in-batches.js';
import { eraserName, leaseMillis, type OpenMirror, type OpenMirrorParts } from './mirror-parts.js';
import type { WriteGate } from './write-gate.js';

/** A file up to this size is rewritten faster in this process than a child process starts. */
const bytesAtOnce = 32 * 1024 * 1024;

/** A source of this size is published faster in this process than a child process starts. */
const rowsAtOnce = 20_000;

export function openSqliteMirror({ file }: SqliteLocation, parts: OpenMirrorParts): OpenMirror {
  const { clock, logger, notices, identity, scrub = scrubApart } = parts;
  const main = openSqlite(file);
  try {
    const { ran, backup } = upgradeSqlite(main, { clock, version: packageVersion() });
    if (ran.length > 0)
      logger.info({ count: ran.length, ...(backup === null ? {} : { file: backup }) }, 'schema migrated');
    // Every writer of this process passes the gate, and no statement waits long for another program from here on.
    const { gate, inbox, tryWrite, close: closeInbox } = openGatedInbox(main, clock, logger);
    const checkpoints = new IdleCheckpoints(main, clock);
    const mirror = new SqliteMirror(
      main,
      {
        clock,
        leaseMs: leaseMillis,
        isGone: isProcessGone,
        identity,
        ...defined({ notices }),
      },
      {
        rowsAtOnce,
        start: (signal) => behindGate(file, gate, clock, signal),
        step: (transaction) => gate.passing(transaction),
      },
      checkpoints,
    );
    const people = new SqliteErasures(main, clock);
    const scrubbed = async (rewritten: number, signal: AbortSignal): Promise<Scrubbed> => {
      const request = { file, now: clock.now(), rewritten };
      freeCachedPages(main.raw);
      const inPlace = await scrub({ ...request, way: 'in place' }, signal);
      if (inPlace !== null) return inPlace;
      return await gate.closedFor('rewrite', async () => {
        const rewritten = await scrub({ ...request, way: 'rewrite' }, signal);
        if (rewritten === null) throw new Error('VACUUM rewrites every file');
        return rewritten;
      });
    };
    const looked = { upTo: 0 };
    // Their methods may run several statements: each passes the gate.
    const direct = sqliteConnection(main);
    const connection = gate.guard(direct);
    // The pages of the console read without waiting: in SQLite, a reader never waits for a writer.
    const guardedExcept = <Store extends object>(store: Store, read: keyof Store) =>
      gate.guard(store, Number.POSITIVE_INFINITY, [read]);
    const budgets = new Budgets(connection);
    const upkeep = gate.guard({
      purgeHistory: async (before: Instant) => purgeHistory(main, before),
      forgetValues: async (before: Instant, after: number) => forgetValues(main, before, after),
      purgeTicks: async (before: Instant) => purgeTicks(main, before, looked),
    });
    return {
      mirror: gate.guard(mirror),
      dimensions: gate.guard(new SqliteDimensions(main, clock)),
      budgets,
      inbox,
      outbox: guardedExcept(new Outbox(direct), 'undelivered'),
      pauses: new Pauses(connection),
      alerts: guardedExcept(new Alerts(direct), 'undelivered'),
      afterSync: new AfterSyncHooks(connection),
      audit: guardedExcept(new AuditLog(direct), 'latest'),
      requests: guardedExcept(new OperatorRequests(direct), 'list'),
      followed: gate.guard(new SqliteFollowedSources(main)),
      eraser: new StoredSourceEraser(
        gate.guard(
          new SqliteErasingCommits(main, {
            clock,
            leaseMs: leaseMillis,
            isGone: isProcessGone,
            holder: eraserName(),
          }),
        ),
      ),
      erasures: gate.guard(people),
      upkeep: {
        scrub: scrubbed,
        scrubAlone: async (rewritten, signal) =>
          statSync(file).size <= bytesAtOnce
            ? waitingAtMost(main.raw, busyTimeoutMsDefault, () => people.scrub(rewritten))
            : await scrubbed(rewritten, signal),
        removeBackups: (before) => removeBackups(file, before),
        removeErasedBackups: () => removeErasedBackups(main, clock.now()),
        purgeHistory: async (before) => {
          const purged = await inBatches(() => upkeep.purgeHistory(before));
          await inSteps((after) => upkeep.forgetValues(before, after));
          return purged;
        },
        purgeTicks: (before) => inBatches(() => upkeep.purgeTicks(before)),
        purgeBudgets: (before) => budgets.purge(before),
      },
      fleet: null,
      server: null,
      tryWrite,
      waits: () => gate.waits,
      onFreed: (listener) => gate.onFreed(listener),
      hurry: () => gate.hurry(),
      close: async () => {
        await checkpoints.close();
        await closeInbox();
        main.close();
      },
    };
  } catch (error) {
    main.close();
    throw error;
  }
}

/**
 * An index is built under the write lock, for as long as its table is large; totals are written in many short commits. Both
 * open the gate again while another program has the lock.
 */
function behindGate(
  file: string,
  gate: WriteGate,
  clock: Clock,
  signal: Interruption | undefined,
): ListingHelper {
  const helper = new ListingProcess(file, (commit) => gate.closedFor('totals', commit), signal);
  return {
    perform: (task) =>
      task.kind === 'index'
        ? retryBusy(clock, () => gate.closedThenOpenFor('index', () => helper.perform(task)), signal)
        : helper.perform(task),
    end: () => helper.end(),
  };
}
