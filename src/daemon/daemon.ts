import type { Config } from '../config/config.js';
import { descriptorLimit, raiseLimit } from '../runtime/file-descriptors.js';
import { type Closable, Lifecycle } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { watchClock } from './clock-watch.js';
import { type Engine, type EngineParts, startEngine } from './engine.js';
import { obeyOperators } from './obey-operators.js';
import type { RequestWatch } from './request-watch.js';
import { startBackground } from './start-background.js';
import { startDrainAlone } from './start-drain.js';
import { startReceiver } from './start-receiver.js';
import { membershipOf, startWork } from './start-work.js';
import { watchAndFollow } from './watch-and-follow.js';

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
    const { watch, following } = await watchAndFollow(engine, parts, membership, lifecycle);
    const receiver = await startReceiver({ engine, parts, membership, clockWatch, following }, lifecycle);
    const drain = receiver?.drain ?? (await startDrainAlone(engine, parts, membership, lifecycle));
    const background = await startBackground(engine, parts, membership, lifecycle);
    let requests: RequestWatch | null = null;
    const onAction = {
      request: () => requests?.look(),
      notice: () => {
        background.delivery?.wake();
        // In a fleet, the leader delivers.
        membership.tell({ kind: 'committed' });
      },
      alert: () => {
        background.alerts?.deliver();
        membership.tell({ kind: 'committed' });
      },
    };
    const served =
      config.console === null
        ? null
        : await (await import('./serve-console.js')).serveConsole(
            {
              settings: config.console,
              receiver: receiver?.receiver ?? null,
              ...{ engine, parts, membership, onAction },
            },
            lifecycle,
          );
    const onLead = () => {
      background.onLead();
      following?.look();
    };
    const hasConsole = config.console !== null;
    requests = await obeyOperators(engine, parts, membership, lifecycle, { hasConsole, onLead });
    await startWork({ engine, parts, membership, drain, onLead, following }, lifecycle);
    watch.start();
    // First of all in a stop: the other parts end their calls one after the other.
    lifecycle.add('waits for a locked database', () => engine.mirror.hurry());
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
        following?.retry();
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
