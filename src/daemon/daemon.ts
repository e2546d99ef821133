import type { Config, ReceiverConfig } from '../config/config.js';
import { createEndpointCare, type EndpointCare } from '../endpoint/care.js';
import { SecretRing } from '../endpoint/secret-ring.js';
import { endpointStore } from '../endpoint/state-store.js';
import type { Membership } from '../fleet/membership.js';
import type { Drain } from '../inbox/drain.js';
import { ownLane } from '../inbox/ports.js';
import { createReceiver, type Receiver } from '../inbox/receiver.js';
import type { Following } from '../installations/follow-installations.js';
import type { AfterSync } from '../outbox/after-sync.js';
import { type Delivery, startDelivery } from '../outbox/deliver.js';
import { judgedStatusOf } from '../reading/judged-status.js';
import { descriptorLimit, raiseLimit } from '../runtime/file-descriptors.js';
import { type Closable, Lifecycle } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { packageVersion } from '../runtime/package-version.js';
import { backUpApart } from '../store/back-up-apart.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { openSnapshots } from '../store/reads/snapshot.js';
import { startAfterSyncHooks } from './after-sync.js';
import { watchAlerts } from './alerts.js';
import { startBackups } from './backups.js';
import { type ClockWatch, watchClock } from './clock-watch.js';
import { receiverConnections } from './connection-limits.js';
import { type Engine, type EngineParts, startEngine } from './engine.js';
import { startHousekeeping } from './housekeeping.js';
import { maintenanceByLeader, outboxByLeader } from './leader-only.js';
import { addressOf } from './listen-address.js';
import { listenFault } from './listen-fault.js';
import { maintenanceOf } from './maintenance.js';
import { noticeTargets } from './notices.js';
import { obeyPauses } from './pause-watch.js';
import { startExports, startLake } from './publications.js';
import { type RequestWatch, watchRequests } from './request-watch.js';
import { catalogOf, grantsOf, installationIn, resolveSources } from './resolve-sources.js';
import { startVaultRotation } from './rotate-vault.js';
import { SourceHolds } from './source-holds.js';
import { configNow } from './source-set.js';
import { openDrain, startDrainAlone } from './start-drain.js';
import { startFollowing } from './start-following.js';
import { membershipOf, startWork } from './start-work.js';
import { storageOf } from './storage.js';
import { watchTokens } from './watch-tokens.js';

export { locationText } from '../store/database-location.js';

export interface Daemon extends Closable {
  readonly engine: Engine;
  /** The URL that receives webhooks; null when the configuration has no receiver. */
  readonly receiverUrl: string | null;
  /** The URL of dashboard, health, status and metrics; null when the console is off. */
  readonly consoleUrl: string | null;
  /** Rereads secrets from files and commands, and checks again what each source's token may read. Never throws. */
  rereadSecrets(): Promise<void>;
  /** The names of the parts still open, to explain a process that does not exit. */
  readonly open: readonly string[];
}

/** Starts everything `rosterd run` runs. Parts start in dependency order and stop in reverse. */
export async function startDaemon(parts: EngineParts): Promise<Daemon> {
  const { config, logger } = parts;
  warnOfDescriptors(config, logger);
  const lifecycle = new Lifecycle();
  try {
    const engine = await startEngine(parts);
    lifecycle.add('engine', engine.close);
    const clockWatch = watchClock(engine, parts, lifecycle);
    const membership = membershipOf(engine);
    const following = await startFollowing(engine, parts, membership, lifecycle);
    const receiver =
      config.receiver === null
        ? null
        : await startReceiver(
            config,
            config.receiver,
            engine,
            parts,
            membership,
            lifecycle,
            clockWatch,
            following,
          );
    const drain = receiver?.drain ?? (await startDrainAlone(engine, parts, membership, lifecycle));
    const logged = { clock: parts.clock, logger: logger.child({ component: 'housekeeping' }) };
    const housekeeping = startHousekeeping({
      ...logged,
      ...maintenanceByLeader(
        {
          ...maintenanceOf(config, engine.mirror),
          askPlatform: (signal) => engine.platform.client.askTime(signal),
        },
        membership,
      ),
      platform: engine.platform.client.time,
    });
    lifecycle.add('housekeeping', () => housekeeping.close());
    lifecycle.add(
      'housekeeping nudges',
      engine.sync.onTick(() => housekeeping.look()),
    );
    if (config.vault.keys.length > 0) {
      const rotation = startVaultRotation({
        vault: engine.vault,
        clock: parts.clock,
        logger: logger.child({ component: 'vault' }),
        register: engine.health,
        leads: () => membership.leads,
      });
      lifecycle.add('vault rotation', () => rotation.close());
    }
    scheduleBackups(engine, parts, membership, lifecycle);
    schedulePublications(engine, parts, membership, lifecycle);
    const delivery = config.notices.length > 0 ? deliverNotices(engine, parts, membership, lifecycle) : null;
    const alerts = config.notices.some(({ about }) => about.includes('alerts'))
      ? await reportAlerts(engine, parts, membership, lifecycle)
      : null;
    const hooks =
      config.afterSync.length > 0 ? await runAfterSync(engine, parts, membership, lifecycle) : null;
    let requests: RequestWatch | null = null;
    const served =
      config.console === null
        ? null
        : await (await import('./serve-console.js')).serveConsole(
            config.console,
            engine,
            receiver?.receiver ?? null,
            parts,
            membership,
            lifecycle,
            {
              request: () => requests?.look(),
              notice: () => {
                delivery?.wake();
                // In a fleet, the leader delivers.
                membership.tell({ kind: 'committed' });
              },
              alert: () => {
                alerts?.deliver();
                membership.tell({ kind: 'committed' });
              },
            },
          );
    engine.onDatabaseBack(() => {
      housekeeping.look();
      delivery?.wake();
      hooks?.look();
    });
    const onLead = () => {
      housekeeping.look();
      delivery?.wake();
      alerts?.look();
      alerts?.deliver();
      hooks?.look();
      following?.look();
    };
    const holds = new SourceHolds(engine.sync);
    await obeyPauses({ ...engine, sync: holds }, parts, lifecycle);
    // Requests come from this console, or from that of another member of the fleet.
    if (config.console !== null || engine.mirror.fleet !== null) {
      const watched = watchRequests({
        config,
        engine,
        holds,
        worksHere: (source) => membership.worksHere(source),
        clock: parts.clock,
        logger: logger.child({ component: 'console' }),
      });
      requests = watched;
      lifecycle.add('watch over requests', () => watched.close());
    }
    await startWork({ engine, parts, membership, drain, onLead, following }, lifecycle);
    const watch = watchTokens({ engine, clock: parts.clock });
    lifecycle.add('watch over tokens', () => watch.close());
    logger.info(
      {
        component: 'daemon',
        count: engine.sources.all.length,
        ...(receiver === null ? {} : { url: receiver.url }),
      },
      'following',
    );
    return {
      engine,
      receiverUrl: receiver?.url ?? null,
      consoleUrl: served?.url ?? null,
      rereadSecrets: async () => {
        engine.vault.reload();
        await receiver?.rereadSecrets();
        served?.rereadSecrets();
        const { management } = config.platform;
        if (management !== null) engine.platform.tokensOf(management).reload?.();
        // The tokens of sources that came since are not secrets of the configuration.
        for (const { access } of config.follows) engine.platform.tokensOf(access).reload?.();
        following?.look();
        const { listed } = engine.sources;
        for (const { access } of listed) engine.platform.tokensOf(access).reload?.();
        engine.sync.secretsReread(listed.map(({ name }) => name));
      },
      get open() {
        return lifecycle.open;
      },
      close: () => lifecycle.close(),
    };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

/** An upper estimate for the database and its child processes, connections to the platform, log and pipes. */
const descriptorsBase = 120;

/** Warns at the start, while there are descriptors left to write the warning with. */
function warnOfDescriptors(config: Config, logger: Logger): void {
  const limit = descriptorLimit();
  const needed = descriptorsBase + (config.receiver?.maxConnections ?? 0) + config.sources.length;
  if (limit === null || limit >= needed) return;
  logger.warn(
    { count: limit, hint: `some ${needed} are needed; ${raiseLimit}` },
    'the limit of open files is too low for this configuration',
  );
}

/** Starts delivering notices. Commits enqueue them; the end of a tick wakes the delivery. */
function deliverNotices(
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
    sync.onTick(() => delivery.wake()),
  );
  return delivery;
}

/** Starts the after-sync hooks. The end of a tick that changed rows makes them look; ticks never wait for them. */
async function runAfterSync(
  { mirror, sync, health }: Engine,
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
  });
  lifecycle.add('after-sync hooks', () => hooks.close());
  lifecycle.add(
    'after-sync nudges',
    sync.onTick((_, { report: { applied } }) => {
      if (applied.added + applied.changed + applied.removed > 0) hooks.look();
    }),
  );
  return hooks;
}

function scheduleBackups(
  { health }: Engine,
  { config, clock, logger }: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): void {
  const { database, backup } = config;
  const { everyMillis } = backup;
  if (everyMillis === null) return;
  const parts = { clock, env: process.env, version: packageVersion() };
  const dialect = dialectFor(database);
  const backups = startBackups({
    settings: { ...backup, everyMillis },
    names: dialect.backupNames,
    clock,
    logger: logger.child({ component: 'backup' }),
    register: health,
    leads: () => membership.leads,
    isFilled: () => isFilled(config),
    backUp: (target, signal) => backUpApart(database, target, { ...parts, signal }),
  });
  lifecycle.add('backups', () => backups.close());
}

/** Starts writing exports and the lake, as far as they are configured. */
function schedulePublications(
  { health }: Engine,
  { config, clock, logger }: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): void {
  const parts = {
    config,
    clock,
    register: health,
    leads: () => membership.leads,
    isFilled: () => isFilled(config),
  };
  const exports = startExports({ ...parts, logger: logger.child({ component: 'export' }) });
  if (exports !== null) lifecycle.add('exports', () => exports.close());
  const lake = startLake({ ...parts, logger: logger.child({ component: 'lake' }) });
  if (lake !== null) lifecycle.add('lake', () => lake.close());
}

/** Returns whether the first listing of a source is complete. */
function isFilled({ database }: Config): Promise<boolean> {
  return dialectFor(database).inSnapshot(
    async (ask) => (await ask`SELECT 1 FROM sources WHERE listed_at IS NOT NULL LIMIT 1`).length > 0,
  );
}

interface AlertReports {
  /** Looks for conditions now. */
  look(): void;
  /** Delivers queued messages now. */
  deliver(): void;
}

/** Starts reporting to operators what they must know, over the receivers that want alerts. */
async function reportAlerts(
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
    status: () =>
      judgedStatusOf(snapshots, clock, configNow(config, engine), engine.health.list(), engine.vault),
    freeBytes: async () => (await storageOf(config.database))?.freeBytes ?? null,
    onQueued: () => delivery.wake(),
  });
  lifecycle.add('alerts', () => watch.close());
  lifecycle.add(
    'alert nudges',
    engine.sync.onTick(() => watch.look()),
  );
  return { look: () => watch.look(), deliver: () => delivery.wake() };
}

interface StartedReceiver {
  readonly url: string;
  readonly receiver: Receiver;
  readonly drain: Drain;
  /** Rereads the signing secrets. When one cannot be read, the previous ones stay in use. */
  rereadSecrets(): Promise<void>;
}

/** Starts the receiver and the inbox drain behind it; `lifecycle` closes both. */
export async function startReceiver(
  config: Config,
  settings: ReceiverConfig,
  engine: Engine,
  parts: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
  clockWatch: ClockWatch,
  following: Following | null,
): Promise<StartedReceiver> {
  const { clock } = parts;
  const logger = parts.logger.child({ component: 'inbox' });
  const care = careFor(config, settings, engine, parts, membership);
  await care?.load();
  const ring = new SecretRing(settings.secrets, clock, logger, ...(care === null ? [] : [care]));
  await ring.load();
  const drain = openDrain(engine, membership, parts, lifecycle);
  const receiver = createReceiver({
    inbox: engine.mirror.inbox,
    path: settings.path,
    signatureHeader: config.platform.headers.signature,
    secrets: () => ring.values(),
    newestSecrets: () => ring.newest(),
    resolveSources: (event) => resolveSources(engine.sources, event),
    onAccepted: (event, sources) => {
      // No record shows that an installation was narrowed or ended, so the source's grant is checked again.
      const granted = grantsOf(engine.sources, event);
      for (const name of granted) engine.sync.recheck(name);
      if (!granted.every((name) => membership.worksHere(name)))
        membership.tell({ kind: 'recheck', sources: granted });
      const installation = following === null ? null : installationIn(event);
      if (installation !== null) {
        following?.seen(installation);
        if (!membership.leads) membership.tell({ kind: 'installed', installations: [installation] });
      }
      const touched = catalogOf(engine.sources, event);
      for (const name of touched)
        if (membership.worksHere(name)) engine.dimensions?.touched(name, event.event);
      if (!touched.every((name) => membership.worksHere(name)))
        membership.tell({ kind: 'touched', sources: touched, event: event.event });
      drain.accepted(sources);
    },
    onGenuine: (signerAheadSeconds) => clockWatch.delivered(signerAheadSeconds),
    limits: receiverConnections(settings, logger),
    clock,
    logger,
  });
  lifecycle.add('receiver', () => receiver.close());
  await drain.start();
  const { host, port } = await listenOrExplain(receiver, settings);
  if (care !== null) {
    lifecycle.add('endpoint care', () => care.close());
    care.start();
  }
  return {
    url: `${addressOf(host, port)}${settings.path}`,
    rereadSecrets: () => ring.reread(),
    receiver,
    drain,
  };
}

function careFor(
  config: Config,
  { endpoint }: ReceiverConfig,
  engine: Engine,
  { clock, logger }: EngineParts,
  membership: Membership,
): EndpointCare | null {
  const { management } = config.platform;
  if (endpoint === null || management === null) return null;
  return createEndpointCare({
    api: engine.platform.client.as(engine.platform.tokensOf(management)),
    wanted: endpoint,
    store: endpointStore(endpoint, engine.vault),
    clock,
    logger: logger.child({ component: 'endpoint' }),
    catchUp: () => {
      engine.sync.catchUp();
      for (const { name } of engine.sources.all)
        if (!membership.worksHere(name)) membership.announceAccepted(ownLane(name));
    },
  });
}

async function listenOrExplain(
  receiver: Receiver,
  { listen }: ReceiverConfig,
): Promise<{ host: string; port: number }> {
  try {
    return await receiver.listen(listen.port, listen.host);
  } catch (error) {
    throw listenFault(error, 'receiver.listen', listen);
  }
}
