import type { ConsoleConfig } from '../config/config.js';
import { createConsole } from '../console/console.js';
import type { QuotaSeen } from '../console/ports/activity.js';
import { ProcessMetrics } from '../console/process-metrics.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Membership } from '../fleet/membership.js';
import type { Receiver } from '../inbox/receiver.js';
import { removeQueryFolders } from '../reading/query-folders.js';
import { listSources, showSource } from '../reading/sources.js';
import { type Known, type StatusPart, sourcesUsual, statusOf } from '../reading/status.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import { packageVersion } from '../runtime/package-version.js';
import { processName } from '../runtime/process-identity.js';
import { randomText } from '../runtime/random.js';
import { openReadings } from '../store/reads/open-readings.js';
import { openSnapshots } from '../store/reads/snapshot.js';
import { consoleAuthOf } from './console-sign-in.js';
import { dashboardSource } from './dashboard-source.js';
import type { Engine, EngineParts } from './engine.js';
import { leaveAddress } from './leave-address.js';
import { addressOf } from './listen-address.js';
import { listenFault } from './listen-fault.js';
import { operationsOf } from './operations.js';
import { configNow } from './source-set.js';
import { storageOf } from './storage.js';
import { longestSpacings, webhookSpacingOf, webhookSpacings } from './webhook-spacings.js';

/** Length of the key with which `rosterd status` reads `/daemon.json`. */
const keyLength = 32;

export interface ServedConsole {
  readonly url: string;
  /** Rereads the secret of the sign-in before its next use. */
  rereadSecrets(): void;
}

/** Called when an operator made a request, and when a notice is due again. */
export interface OnAction {
  readonly request: () => void;
  readonly notice: () => void;
  readonly alert: () => void;
}

export interface ConsoleParts {
  readonly settings: ConsoleConfig;
  readonly engine: Engine;
  readonly receiver: Receiver | null;
  readonly parts: EngineParts;
  readonly membership: Membership;
  readonly onAction: OnAction;
}

/** Serves dashboard, health, status and metrics on a listener separate from the one that faces the internet. */
export async function serveConsole(
  { settings, engine, receiver, parts, membership, onAction }: ConsoleParts,
  lifecycle: Lifecycle,
): Promise<ServedConsole> {
  const { listen: at, hosts, auth, metricsSources } = settings;
  const { clock, config, random } = parts;
  removeQueryFolders(clock.now());
  const snapshots = await openSnapshots(config.database);
  lifecycle.add('status connections', () => snapshots.close());
  const readings = await openReadings(config.database, clock);
  lifecycle.add('dashboard readings', () => readings.close());
  const name = processName();
  let consoleUrl: string | null = null;
  const since = instantFromMillis(clock.now());
  const spacingOf = (name: string) => {
    const source = engine.sources.find(name);
    return source === undefined ? null : webhookSpacingOf(source.name, engine.sync, clock);
  };
  const known = (): Known => ({
    daemons: [{ pid: process.pid, console_url: consoleUrl, state: 'answers' }],
    problems: engine.health.list(),
    waits: engine.mirror.waits(),
    spacings: spacingOf,
    since,
    vault: engine.vault,
  });
  const status = (part?: StatusPart) => statusOf(snapshots, clock, configNow(config, engine), known(), part);
  const key = randomText(random, keyLength);
  const processed = new ProcessMetrics(metricsSources);
  lifecycle.add(
    'tick metrics',
    engine.sync.onTick((source, { report }) => processed.ticked(source, report)),
  );
  const shown = createConsole({
    source: {
      status: (sourcesMax) => status(sourcesMax === undefined ? {} : { sourcesMax, ticksMax: 0 }),
      problems: () => engine.health.list(),
      waits: () => engine.mirror.waits(),
      spacings: (source) => {
        if (source === null)
          return longestSpacings(webhookSpacings(engine.sources.all, engine.sync, clock), sourcesUsual);
        const spacing = spacingOf(source);
        return spacing === null ? {} : { [source]: spacing };
      },
      log: () => parts.tail?.lines() ?? [],
      counts: async (names) => ({
        deliveries: receiver?.status().results ?? {},
        connections: receiver?.status().connections ?? null,
        clockSkewSeconds: engine.platform.client.time.aheadMillis / 1_000,
        fleet:
          membership.held === null
            ? null
            : { living: membership.living, held: membership.held, leads: membership.leads },
        quotas: await quotasOf(names, engine),
        storage: await storageOf(config.database),
      }),
    },
    dashboard: dashboardSource({
      config,
      clock,
      status,
      list: (wanted) =>
        listSources(snapshots, clock, configNow(config, engine), engine.health.list(), wanted),
      show: (name) => showSource(snapshots, clock, configNow(config, engine), known(), name),
      read: readings.read,
      firstSource: () => engine.sources.all[0]?.name ?? '',
      quotaOf: (source) => quotaOf(source, engine),
      onTick: (listener) => engine.sync.onTick(listener),
    }),
    operations: operationsOf({
      mirror: engine.mirror,
      isSource: (name) => engine.sources.find(name) !== undefined,
      status,
      clock,
      onRequest: onAction.request,
      onNotice: onAction.notice,
      onAlert: onAction.alert,
    }),
    processed,
    metricsSources,
    own: { key, process: name, started_at: since },
    auth: auth === null ? null : await consoleAuthOf(auth),
    host: at.host,
    hosts,
    clock,
    random,
    logger: parts.logger.child({ component: 'console' }),
    version: packageVersion(),
  });
  lifecycle.add('console', () => shown.close());
  try {
    const { host, port } = await shown.listen(at.port);
    consoleUrl = addressOf(host, port);
    const url = addressOf(reachable(host), port);
    const logger = parts.logger.child({ component: 'console' });
    const { health } = engine;
    const address = await leaveAddress({ config, url, key, clock, health, logger });
    lifecycle.add('address for status', () => address.close());
    return { url: consoleUrl, rereadSecrets: () => shown.rereadSecrets() };
  } catch (error) {
    throw listenFault(error, 'console.listen', at);
  }
}

/** Returns a local address for a listener on all addresses. */
const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

async function quotasOf(names: readonly string[], engine: Engine) {
  const quotas: Record<string, QuotaSeen> = {};
  for (const name of names) {
    const quota = await quotaOf(name, engine);
    if (quota !== null) quotas[name] = quota;
  }
  return quotas;
}

/** Returns the remaining request quota of a source's token; null for a source that is not followed any more. */
async function quotaOf(name: string, { sources, platform }: Engine): Promise<QuotaSeen | null> {
  const source = sources.find(name);
  const quota = source === undefined ? null : await platform.client.quotaOf(platform.tokensOf(source.access));
  return quota === null ? null : { limit: quota.limit, left: quota.left, resets_at: quota.resetsAt };
}
