import { openConnectionPool } from '../client/fetch/connection-pool.js';
import type { AfterSyncConfig, Config } from '../config/config.js';
import { environmentWithoutSecrets } from '../config/secret-variables.js';
import { instantFromMillis } from '../domain/instant.js';
import { type AfterSync, startAfterSync } from '../outbox/after-sync.js';
import type { AfterSyncStore, PostFetch, Send } from '../outbox/ports.js';
import { type CommandParts, sendToCommand } from '../outbox/send-command.js';
import { sendSigned } from '../outbox/send-http.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthRegister } from '../runtime/health-register.js';
import type { Logger } from '../runtime/logger.js';
import { proxiesOf } from '../runtime/proxy.js';
import type { Random } from '../runtime/random.js';
import { afterSyncProblem } from './alert-conditions.js';

export interface AfterSyncHooksParts {
  readonly config: Config;
  readonly store: AfterSyncStore;
  readonly register: HealthRegister;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  leads(): boolean;
  /** Whether another daemon is known to lead. */
  isLed(): boolean;
}

/**
 * Starts the configured hooks, each for itself. A failure is in the health register until the hook succeeds, so that
 * status, metrics and alerts report it.
 */
export async function startAfterSyncHooks(parts: AfterSyncHooksParts): Promise<AfterSync> {
  const { config, store, register, clock, random, logger } = parts;
  // A hook that is new begins here, before the first tick changes anything.
  for (const { name } of config.afterSync) await store.state(name);
  // How long a run may take is up to its hook, and hooks run beside one another: the pool limits neither.
  const pool = openConnectionPool({
    connections: Math.max(1, config.afterSync.length),
    headersMillis: 0,
    proxyFor: proxiesOf(config.proxy),
  });
  const env = environmentWithoutSecrets(config, process.env);
  const hooks = config.afterSync.map((hook) => {
    const { name, sources, delayMillis } = hook;
    const key = afterSyncProblem(name);
    return startAfterSync({
      hook: { name, sources, delayMillis, send: senderOf(hook, pool.fetch, { clock, env }) },
      ...{ store, clock, random, logger },
      leads: () => {
        if (parts.isLed()) register.clear(key);
        return parts.leads();
      },
      onFailure: (why) =>
        register.report(key, {
          severity: 'attention',
          text: `the after-sync hook ${name} failed: ${why}`,
          since: instantFromMillis(clock.now()),
        }),
      onSuccess: () => register.clear(key),
    });
  });
  return {
    look: () => {
      for (const hook of hooks) hook.look();
    },
    close: async () => {
      await Promise.all(hooks.map((hook) => hook.close()));
      await pool.close();
    },
  };
}

function senderOf(hook: AfterSyncConfig, fetch: PostFetch, { clock, env }: CommandParts): Send {
  const limit = hook.timeoutMillis;
  return hook.kind === 'command'
    ? sendToCommand(hook.command, { clock, env, runMillisMax: limit })
    : sendSigned(hook.url, () => hook.secret.reveal(), { fetch, clock, answerMillisMax: limit });
}
