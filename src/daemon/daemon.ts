import type { Config, ReceiverConfig } from '../config/config.js';
import { createDrain } from '../inbox/drain.js';
import { createReceiver, type Receiver } from '../inbox/receiver.js';
import { startDelivery } from '../outbox/deliver.js';
import { type Closable, Lifecycle } from '../runtime/lifecycle.js';
import { choresOf } from './chores.js';
import { createEndpointCare, type EndpointCare } from './endpoint-care.js';
import { type Engine, type EngineParts, startEngine } from './engine.js';
import { keepHouse } from './housekeeping.js';
import { listenFault } from './listen-fault.js';
import { noticeTargets } from './notices.js';
import { resolveSources } from './resolve-sources.js';
import { SecretRing } from './secret-ring.js';
import { addressOf, serveConsole } from './serve-console.js';

export interface Daemon extends Closable {
  readonly engine: Engine;
  /** Where webhooks are received; null when the configuration has no receiver. */
  readonly receiverUrl: string | null;
  /** Health, status and metrics; null when switched off. */
  readonly consoleUrl: string | null;
  /** What is still open, for a process that will not end. */
  readonly open: readonly string[];
}

/** Everything `rosterd run` runs. Parts start in the order in which they need one another and stop in reverse. */
export async function startDaemon(parts: EngineParts): Promise<Daemon> {
  const { config, logger } = parts;
  const lifecycle = new Lifecycle();
  try {
    const engine = await startEngine(parts);
    lifecycle.add('engine', engine.close);
    const receiver =
      config.receiver === null ? null : await receive(config, config.receiver, engine, parts, lifecycle);
    const logged = { clock: parts.clock, logger: logger.child({ component: 'housekeeping' }) };
    const house = keepHouse({ ...logged, ...choresOf(config, engine.mirror, parts.clock) });
    lifecycle.add('housekeeping', () => house.close());
    lifecycle.add(
      'housekeeping nudges',
      engine.sync.onTick(() => house.look()),
    );
    if (config.notices.length > 0) deliverNotices(engine, parts, lifecycle);
    const consoleUrl =
      config.console === null
        ? null
        : await serveConsole(config.console.listen, engine, receiver?.receiver ?? null, parts, lifecycle);
    engine.sync.start();
    logger.info(
      {
        component: 'daemon',
        count: config.sources.length,
        ...(receiver === null ? {} : { url: receiver.url }),
      },
      'following',
    );
    return {
      engine,
      receiverUrl: receiver?.url ?? null,
      consoleUrl,
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

/** Queued by every commit; whoever is to be told hears of it when the tick that committed is over. */
function deliverNotices({ mirror, sync }: Engine, parts: EngineParts, lifecycle: Lifecycle): void {
  const { config, clock, random } = parts;
  const { targets, close } = noticeTargets(config, clock);
  lifecycle.add('notice connections', close);
  const logger = parts.logger.child({ component: 'outbox' });
  const delivery = startDelivery({ outbox: mirror.outbox, targets, clock, random, logger });
  lifecycle.add('notices', () => delivery.close());
  lifecycle.add(
    'notice nudges',
    sync.onTick(() => delivery.wake()),
  );
}

async function receive(
  config: Config,
  settings: ReceiverConfig,
  engine: Engine,
  parts: EngineParts,
  lifecycle: Lifecycle,
): Promise<{ readonly url: string; readonly receiver: Receiver }> {
  const { clock } = parts;
  const logger = parts.logger.child({ component: 'inbox' });
  const care = careFor(config, settings, engine, parts);
  await care?.load();
  const ring = new SecretRing(settings.secrets, clock, logger, () => care?.secrets() ?? []);
  await ring.load();
  const drain = createDrain({
    inbox: engine.mirror.inbox,
    ticks: {
      nudge: (source) => engine.sync.nudge(source),
      onTick: (listener) =>
        engine.sync.onTick((source, { report, publishedThrough }) =>
          listener(source, {
            done: report.outcome === 'done',
            startedAt: report.startedAt,
            publishedThrough,
          }),
        ),
    },
    sources: config.sources.map(({ name }) => name),
    ...{ clock, logger },
  });
  lifecycle.add('drain', () => drain.close());
  const receiver = createReceiver({
    inbox: engine.mirror.inbox,
    path: settings.path,
    signatureHeader: config.platform.headers.signature,
    secrets: () => ring.values(),
    resolveSources: (event) => resolveSources(config.sources, event),
    onAccepted: (sources) => drain.accepted(sources),
    limits: { connections: settings.maxConnections },
    ...{ clock, logger },
  });
  lifecycle.add('receiver', () => receiver.close());
  await drain.start();
  const { host, port } = await listenOrExplain(receiver, settings);
  if (care !== null) {
    lifecycle.add('endpoint care', () => care.close());
    care.start();
  }
  return { url: `${addressOf(host, port)}${settings.path}`, receiver };
}

function careFor(
  config: Config,
  { endpoint }: ReceiverConfig,
  engine: Engine,
  { clock, logger }: EngineParts,
): EndpointCare | null {
  const { management } = config.platform;
  if (endpoint === null || management === null) return null;
  return createEndpointCare({
    api: engine.platform.client.as(engine.platform.tokensOf(management)),
    wanted: endpoint,
    clock,
    logger: logger.child({ component: 'endpoint' }),
    catchUp: () => {
      for (const { name } of config.sources) engine.sync.nudge(name);
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
