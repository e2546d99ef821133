import type { Membership } from '../fleet/membership.js';
import type { Delivery } from '../outbox/deliver.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import type { Engine, EngineParts } from './engine.js';
import { type Housekeeping, startHousekeeping } from './housekeeping.js';
import { maintenanceByLeader } from './leader-only.js';
import { maintenanceOf } from './maintenance.js';
import { startVaultRotation } from './rotate-vault.js';
import { type AlertReports, deliverNotices, reportAlerts, runAfterSync } from './start-outbox.js';
import { scheduleBackups, schedulePublications } from './start-schedules.js';

/** The work beside following, as a daemon and a started mirror of the library do it. */
export interface Background {
  readonly delivery: Delivery | null;
  readonly alerts: AlertReports | null;
  /** Does what is due for a leader: this process became the leader, or another member of the fleet committed changes. */
  onLead(): void;
}

/** Starts scrubs, retention, backups, exports, notices, alerts and after-sync hooks, as far as they are configured. */
export async function startBackground(
  engine: Engine,
  parts: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): Promise<Background> {
  const { config } = parts;
  const housekeeping = keepHouse(engine, parts, membership, lifecycle);
  if (config.vault.keys.length > 0) {
    const rotation = startVaultRotation({
      vault: engine.vault,
      clock: parts.clock,
      logger: parts.logger.child({ component: 'vault' }),
      register: engine.health,
      leads: () => membership.leads,
      isLed: () => membership.isLed,
    });
    lifecycle.add('vault rotation', () => rotation.close());
  }
  scheduleBackups(engine, parts, membership, lifecycle);
  schedulePublications(engine, parts, membership, lifecycle);
  const delivery = config.notices.length > 0 ? deliverNotices(engine, parts, membership, lifecycle) : null;
  const alerts = config.notices.some(({ about }) => about.includes('alerts'))
    ? await reportAlerts(engine, parts, membership, lifecycle)
    : null;
  const hooks = config.afterSync.length > 0 ? await runAfterSync(engine, parts, membership, lifecycle) : null;
  engine.onDatabaseBack(() => {
    housekeeping.look();
    delivery?.wake();
    hooks?.look();
  });
  return {
    delivery,
    alerts,
    onLead: () => {
      housekeeping.look();
      delivery?.wake();
      alerts?.look();
      alerts?.deliver();
      hooks?.look();
    },
  };
}

/** Starts scrubbing erased bytes and deleting what is past its retention. */
function keepHouse(
  engine: Engine,
  { config, clock, logger }: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): Housekeeping {
  const { client } = engine.platform;
  const housekeeping = startHousekeeping({
    clock,
    logger: logger.child({ component: 'housekeeping' }),
    ...maintenanceByLeader(
      { ...maintenanceOf(config, engine.mirror), askPlatform: (signal) => client.askTime(signal) },
      membership,
    ),
    platform: client.time,
  });
  lifecycle.add('housekeeping', () => housekeeping.close());
  lifecycle.add(
    'housekeeping nudges',
    engine.sync.onTick(() => housekeeping.look()),
  );
  return housekeeping;
}
