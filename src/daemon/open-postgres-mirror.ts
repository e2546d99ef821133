import { defined } from '../domain/defined.js';
import { packageVersion } from '../runtime/package-version.js';
import { isSharedProcessGone } from '../runtime/process-identity.js';
import { AfterSyncHooks } from '../store/after-sync.js';
import { Alerts } from '../store/alerts.js';
import { AuditLog } from '../store/audit-log.js';
import { SharedBudgets } from '../store/budgets.js';
import { postgresConnection } from '../store/connection.js';
import type { PostgresLocation } from '../store/database-location.js';
import { tryOnPostgres } from '../store/dialect/postgres/accept-deliveries.js';
import { PostgresDimensions } from '../store/dialect/postgres/dimensions.js';
import { PostgresErasingCommits } from '../store/dialect/postgres/erase-source.js';
import { PostgresErasures } from '../store/dialect/postgres/erasures.js';
import { PostgresFleet } from '../store/dialect/postgres/fleet.js';
import { PostgresFollowedSources } from '../store/dialect/postgres/followed-sources.js';
import { migratePostgres } from '../store/dialect/postgres/migrate.js';
import { PostgresMirror } from '../store/dialect/postgres/mirror.js';
import { openPostgres } from '../store/dialect/postgres/open.js';
import { forgetValues, purgeHistory, purgeTicks } from '../store/dialect/postgres/purge.js';
import { isAway, reachPostgres } from '../store/dialect/postgres/reach.js';
import { lockTimeoutMs } from '../store/dialect/postgres/transaction.js';
import { watchPool } from '../store/dialect/postgres/watch-pool.js';
import { StoredSourceEraser } from '../store/erase-source.js';
import { postgresInbox } from '../store/inbox.js';
import { OperatorRequests } from '../store/operator-requests.js';
import { Outbox } from '../store/outbox.js';
import { Pauses } from '../store/pauses.js';
import { inBatches, inSteps } from './in-batches.js';
import { eraserName, leaseMillis, type OpenMirror, type OpenMirrorParts } from './mirror-parts.js';

/**
 * The receiver responds within a second or two even when the server hangs; the platform resends rejected deliveries.
 * Its connections are dedicated, so that a delivery never queues behind a page write. One on which no answer comes back is
 * closed: without a word from the server or the network, the next deliveries would wait behind it.
 */
const accepting = {
  applicationName: 'rosterd-receiver',
  max: 3,
  connectTimeoutMs: 1_500,
  statementTimeoutMs: 1_500,
  answerMillis: 5_000,
} as const;

/** `lockMillis`: how long a statement outside a transaction waits for a lock, which another program may have for hours. */
export async function openPostgresMirror(
  place: PostgresLocation,
  parts: OpenMirrorParts,
  lockMillis = lockTimeoutMs,
): Promise<OpenMirror> {
  const { clock, logger, notices, identity } = parts;
  const main = await openPostgres(place, { lockTimeoutMs: lockMillis });
  try {
    const { ran, withoutTypedViews } = await migratePostgres(main, {
      ...{ clock, version: packageVersion() },
      isGone: isSharedProcessGone,
    });
    if (ran.length > 0) logger.info({ count: ran.length }, 'schema migrated');
    if (withoutTypedViews !== null) logger.warn({}, withoutTypedViews);
    const receiving = await openPostgres(place, accepting);
    const watch = watchPool(main.pool, place, clock);
    const erasures = new PostgresErasures(main, clock);
    const budgets = new SharedBudgets(postgresConnection(main));
    return {
      mirror: new PostgresMirror(main, {
        clock,
        leaseMs: leaseMillis,
        isGone: isSharedProcessGone,
        identity,
        ...defined({ notices }),
      }),
      dimensions: new PostgresDimensions(main, clock),
      budgets,
      inbox: postgresInbox(receiving),
      outbox: new Outbox(postgresConnection(main)),
      pauses: new Pauses(postgresConnection(main)),
      alerts: new Alerts(postgresConnection(main)),
      afterSync: new AfterSyncHooks(postgresConnection(main)),
      audit: new AuditLog(postgresConnection(main)),
      requests: new OperatorRequests(postgresConnection(main)),
      followed: new PostgresFollowedSources(main),
      eraser: new StoredSourceEraser(
        new PostgresErasingCommits(main, {
          clock,
          leaseMs: leaseMillis,
          isGone: isSharedProcessGone,
          holder: eraserName(),
        }),
      ),
      erasures,
      upkeep: {
        scrub: () => erasures.scrub(),
        scrubAlone: () => erasures.scrub(),
        // A migration of a server makes no backup.
        removeBackups: () => [],
        removeErasedBackups: () => {},
        purgeHistory: async (before) => {
          const purged = await inBatches(() => purgeHistory(main, before));
          await inSteps((after) => forgetValues(main, before, after));
          return purged;
        },
        purgeTicks: (before) => inBatches(() => purgeTicks(main, before)),
        purgeBudgets: (before) => budgets.purge(before),
      },
      fleet: (member, ears) =>
        new PostgresFleet(member, { server: place, database: main, version: packageVersion() }, ears),
      server: { isAway, ask: () => reachPostgres(place) },
      tryWrite: () => tryOnPostgres(receiving),
      waits: () => [],
      onFreed: () => {},
      hurry: () => {},
      close: async () => {
        await watch.close();
        await receiving.close();
        await main.close();
      },
    };
  } catch (error) {
    await main.close();
    throw error;
  }
}
