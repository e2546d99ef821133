import type { Listen } from '../config/values.js';
import { createConsole } from '../console/console.js';
import type { Receiver } from '../inbox/receiver.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import { packageVersion } from '../runtime/package-version.js';
import type { Engine, EngineParts } from './engine.js';
import { listenFault } from './listen-fault.js';
import { statusOf } from './status.js';

/** Health, status and metrics on a listener of their own, beside the one that faces the internet. */
export async function serveConsole(
  at: Listen,
  engine: Engine,
  receiver: Receiver | null,
  parts: EngineParts,
  lifecycle: Lifecycle,
): Promise<string> {
  const { clock, config } = parts;
  const shown = createConsole({
    source: {
      status: () =>
        statusOf(
          config.database.file,
          clock,
          config.receiver?.endpoint?.file ?? null,
          config.sync.intervalSeconds,
        ),
      counts: () => ({
        deliveries: receiver?.status().results ?? {},
        clockSkewSeconds: engine.platform.client.time.aheadMillis / 1_000,
      }),
    },
    clock,
    logger: parts.logger.child({ component: 'console' }),
    version: packageVersion(),
  });
  lifecycle.add('console', () => shown.close());
  try {
    const { host, port } = await shown.listen(at.port, at.host);
    return addressOf(host, port);
  } catch (error) {
    throw listenFault(error, 'console.listen', at);
  }
}

export const addressOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
