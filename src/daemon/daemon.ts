import type { Config, ReceiverConfig } from '../config/config.js';
import { createDrain } from '../inbox/drain.js';
import { createReceiver, type Receiver } from '../inbox/receiver.js';
import { type Closable, Lifecycle } from '../runtime/lifecycle.js';
import { type Engine, type EngineParts, startEngine } from './engine.js';
import { listenFault } from './listen-fault.js';
import { resolveSources } from './resolve-sources.js';
import { SecretRing } from './secret-ring.js';

export interface Daemon extends Closable {
  readonly engine: Engine;
  /** Where webhooks are received; null when the configuration has no receiver. */
  readonly receiverUrl: string | null;
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
      config.receiver === null
        ? null
        : await startReceiver(config, config.receiver, engine, parts, lifecycle);
    engine.sync.start();
    logger.info(
      { component: 'daemon', count: config.sources.length, ...(receiver === null ? {} : { url: receiver }) },
      'following',
    );
    return {
      engine,
      receiverUrl: receiver,
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

/** The receiver and the drain behind it, closed with `lifecycle`. Answers the address it listens on. */
export async function startReceiver(
  config: Config,
  settings: ReceiverConfig,
  engine: Engine,
  parts: EngineParts,
  lifecycle: Lifecycle,
): Promise<string> {
  const { clock } = parts;
  const logger = parts.logger.child({ component: 'inbox' });
  const ring = new SecretRing(settings.secrets, clock, logger);
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
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}${settings.path}`;
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
