import { execFile } from 'node:child_process';
import { defined } from '../domain/defined.js';
import { type Clock, kernelMonotonicMicros } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';

type Env = Readonly<Record<string, string | undefined>>;

/** systemd gives up on a start without a message, so sending one may not delay a start either. */
const timeoutMillis = 5_000;

const following = 'STATUS=following the platform';

/** The assignments of each message, as sd_notify(3) names them. */
const messages = {
  ready: () => ['READY=1', following],
  // systemd compares the time with that of its own signal, to tell this reload from an earlier one.
  reloading: () => [
    'RELOADING=1',
    `MONOTONIC_USEC=${kernelMonotonicMicros()}`,
    'STATUS=reloading the configuration',
  ],
  kept: () => ['READY=1', `${following}; the last reload was refused, the log says why`],
  stopping: () => ['STOPPING=1', 'STATUS=finishing the page under way'],
} as const;

/**
 * Sends systemd (`Type=notify`) the state of the daemon. systemd listens on a datagram socket, which Node does not
 * offer, so its own `systemd-notify` sends the message. Does nothing without a `NOTIFY_SOCKET`; a message that could not
 * be sent is a warning.
 */
export async function notifyServiceManager(
  message: keyof typeof messages,
  env: Env,
  logger: Logger,
): Promise<void> {
  if (env.NOTIFY_SOCKET === undefined) return;
  // A daemon that was started through another program is not the process that systemd started.
  const mainPid = `MAINPID=${process.pid}`;
  const code = await send([...messages[message](), mainPid], env);
  if (code !== null) logger.warn({ code }, `systemd-notify could not say "${message}"`);
}

/**
 * Sends `WATCHDOG=1` twice in each period of `WatchdogSec=`, from the event loop: systemd kills and restarts a daemon
 * whose event loop is blocked for the whole period. Does nothing when the unit sets no `WatchdogSec=`.
 */
export function startWatchdog(env: Env, clock: Clock, logger: Logger): Closable {
  const stopping = new AbortController();
  const periodMillis = Number(env.WATCHDOG_USEC ?? 0) / 1_000;
  const isOurs = env.WATCHDOG_PID === undefined || env.WATCHDOG_PID === `${process.pid}`;
  const run = async () => {
    let warned = false;
    while (isOurs && env.NOTIFY_SOCKET !== undefined && periodMillis > 0 && !stopping.signal.aborted) {
      const code = await send(['WATCHDOG=1'], env);
      if (code !== null && !warned) logger.warn({ code }, 'systemd-notify could not feed the watchdog');
      warned = code !== null;
      await clock.wait(periodMillis / 2, stopping.signal);
    }
  };
  const running = run();
  return {
    close: async () => {
      stopping.abort();
      await running;
    },
  };
}

/** Returns null when the message was sent, otherwise the error code. */
function send(assignments: readonly string[], env: Env): Promise<string | null> {
  return new Promise((resolve) => {
    execFile('systemd-notify', assignments, { env: given(env), timeout: timeoutMillis }, (error) =>
      resolve(error === null ? null : String(error.code ?? error.signal)),
    );
  });
}

/** Returns the variables `systemd-notify` needs, without the secrets that may be in the environment. */
function given({ PATH, NOTIFY_SOCKET }: Env): NodeJS.ProcessEnv {
  return {
    ...defined({ PATH, NOTIFY_SOCKET }),
  };
}
