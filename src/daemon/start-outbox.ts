import type { Membership } from '../fleet/membership.js';
import type { AfterSync } from '../outbox/after-sync.js';
import { type Delivery, startDelivery } from '../outbox/deliver.js';
import { judgedStatusOf } from '../reading/judged-status.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import { openSnapshots } from '../store/reads/snapshot.js';
import type { TickReport } from '../sync/ports.js';
import { startAfterSyncHooks } from './after-sync.js';
import { watchAlerts } from './alerts.js';
import type { Engine, EngineParts } from './engine.js';
import { outboxByLeader } from './leader-only.js';
import { noticeTargets } from './notices.js';
import { configNow } from './source-set.js';
import { freeBytesOf } from './storage.js';

/** Whether the tick may have queued notices. A look costs as much as there are notices that wait. */
const changedRows = ({ applied }: TickReport): boolean =>
  applied.added + applied.changed + applied.removed > 0;

/** Starts delivering notices. Commits enqueue them; the end of a tick that changed rows wakes the delivery. */
export function deliverNotices(
  { mirror, sync }: Engine,
  parts: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): Delivery {
  const { config, clock, random } = parts;
  const { targets, close } = noticeTargets(config, clock);
  lifecycle.add('notice connections', close);
  const logger = parts.logger.child({ component: 'outbox' });
  const outbox = outboxByLeader(mirror.outbox, membership);
  const delivery = startDelivery({ outbox, targets, clock, random, logger });
  lifecycle.add('notices', () => delivery.close());
  lifecycle.add(
    'notice nudges',
    sync.onTick((_, { report }) => {
      if (changedRows(report)) delivery.wake();
    }),
  );
  return delivery;
}

/** Starts the after-sync hooks. A tick or a listing of the catalog that changed rows makes them look, and never waits for them. */
export async function runAfterSync(
  { mirror, sync, dimensions, health }: Engine,
  { config, clock, random, logger }: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): Promise<AfterSync> {
  const hooks = await startAfterSyncHooks({
    config,
    store: mirror.afterSync,
    register: health,
    clock,
    random,
    logger: logger.child({ component: 'after-sync' }),
    leads: () => membership.leads,
    isLed: () => membership.isLed,
  });
  lifecycle.add('after-sync hooks', () => hooks.close());
  lifecycle.add(
    'after-sync nudges',
    sync.onTick((_, { report }) => {
      if (changedRows(report)) hooks.look();
    }),
  );
  if (dimensions !== null)
    lifecycle.add(
      'after-sync nudges of the catalog',
      dimensions.onChanged(() => hooks.look()),
    );
  return hooks;
}

export interface AlertReports {
  /** Looks for conditions now. */
  look(): void;
  /** Delivers queued messages now. */
  deliver(): void;
}

/** Starts reporting to operators what they must know, over the receivers that want alerts. */
export async function reportAlerts(
  engine: Engine,
  parts: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): Promise<AlertReports> {
  const { config, clock, random } = parts;
  const logger = parts.logger.child({ component: 'alerts' });
  const { targets, close } = noticeTargets(config, clock);
  lifecycle.add('alert connections', close);
  const { alerts } = engine.mirror;
  const delivery = startDelivery({
    outbox: outboxByLeader(alerts, membership),
    targets,
    clock,
    random,
    logger,
  });
  lifecycle.add('alert delivery', () => delivery.close());
  const snapshots = await openSnapshots(config.database);
  lifecycle.add('alert connections to the database', () => snapshots.close());
  const watch = watchAlerts({
    alerts,
    config,
    clock,
    logger,
    leads: () => membership.leads,
    isLed: () => membership.isLed,
    status: () =>
      judgedStatusOf(snapshots, clock, configNow(config, engine), engine.health.list(), engine.vault),
    tried: () => engine.health.tried,
    freeBytes: () => freeBytesOf(config.database),
    onQueued: () => delivery.wake(),
  });
  lifecycle.add('alerts', () => watch.close());
  lifecycle.add(
    'alert nudges',
    engine.sync.onTick(() => watch.look()),
  );
  return { look: () => watch.look(), deliver: () => delivery.wake() };
}
