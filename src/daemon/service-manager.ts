import { execFile } from 'node:child_process';
import type { Logger } from '../runtime/logger.js';

type Env = Readonly<Record<string, string | undefined>>;

/** A service manager that hears nothing gives up on a start, so its messenger may not hold one up either. */
const patienceMillis = 5_000;

const words = {
  ready: ['--ready', '--status=following the platform'],
  stopping: ['--stopping', '--status=finishing the page under way'],
} as const;

/**
 * Tells systemd (`Type=notify`) that the daemon serves, or that it is about to end. systemd listens on a datagram
 * socket, which Node has none of, so its own `systemd-notify` carries the word. Without a `NOTIFY_SOCKET` nobody
 * listens and nothing is done; a word that could not be carried is a warning.
 */
export async function tellServiceManager(word: keyof typeof words, env: Env, logger: Logger): Promise<void> {
  if (env.NOTIFY_SOCKET === undefined) return;
  const args = [...words[word], `--pid=${process.pid}`];
  await new Promise<void>((resolve) => {
    execFile('systemd-notify', args, { env: given(env), timeout: patienceMillis }, (error) => {
      if (error !== null)
        logger.warn({ code: String(error.code ?? error.signal) }, `systemd-notify could not say "${word}"`);
      resolve();
    });
  });
}

/** What it needs to find itself and the socket, and no secret that stands beside them. */
function given({ PATH, NOTIFY_SOCKET }: Env): NodeJS.ProcessEnv {
  return {
    ...(PATH === undefined ? {} : { PATH }),
    ...(NOTIFY_SOCKET === undefined ? {} : { NOTIFY_SOCKET }),
  };
}
