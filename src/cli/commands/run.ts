import type { Daemon } from '../../daemon/daemon.js';
import { packageVersion } from '../../runtime/package-version.js';
import { type Command, type CommandContext, configOptions } from '../command.js';
import { configOf } from '../config-options.js';
import { enginePartsOf } from '../engine-of.js';
import { exitCodes } from '../exit-codes.js';
import { ReloadRequests } from '../reload-requests.js';
import { runningAlready } from '../running-already.js';

export const run: Command = {
  name: 'run',
  summary: 'Run the daemon in the foreground until a signal stops it',
  examples: [
    ['rosterd run', 'with ./config.json; SIGTERM finishes the current page and exits 0'],
    ['rosterd run --config /etc/rosterd.json --log-format json', 'as a service; SIGHUP reloads'],
  ],
  options: configOptions,
  reloads: true,
  async run(context) {
    // Listen first: a SIGHUP that arrives while the daemon starts must not end it.
    const reloads = new ReloadRequests(context.io);
    try {
      return await follow(context, reloads);
    } finally {
      reloads.close();
    }
  },
};

async function follow(context: CommandContext, reloads: ReloadRequests) {
  const { io, out, signal } = context;
  const { env } = io;
  const loaded = await configOf(context);
  const parts = await enginePartsOf(context, loaded);
  // Log before the slower loading of the rest, so that the start is visible at once.
  parts.logger.info({ component: 'daemon', version: packageVersion() }, 'starting');
  const { unknownFields } = await import('../../config/unknown-fields.js');
  const warned = (read: typeof loaded) => {
    for (const warning of unknownFields(read.config)) out.warn(warning);
    return read;
  };
  warned(loaded);
  const { locationText, startDaemon } = await import('../../daemon/daemon.js');
  const { startWatchdog, notifyServiceManager } = await import('../../daemon/service-manager.js');
  const { reload } = await import('../../daemon/reload.js');
  const daemon = await startDaemon(parts).catch(async (error: unknown) => {
    throw await runningAlready(error, loaded.config, io.clock);
  });
  // A signal may have come while it started.
  if (!signal.aborted) noteAddresses(daemon, context);
  if (!signal.aborted) out.note(`mirroring into ${locationText(loaded.config.database)}; Ctrl-C to stop`);
  const watchdog = startWatchdog(env, io.clock, parts.logger);
  await notifyServiceManager('ready', env, parts.logger);
  let running = { loaded, parts, daemon };
  try {
    while (await reloads.next(signal)) {
      await notifyServiceManager('reloading', env, running.parts.logger);
      const reloaded = await reload(running, {
        load: async () => warned(await configOf(context)),
        partsOf: (next) => enginePartsOf(context, next),
      });
      running = reloaded.running;
      if (reloaded.outcome === 'applied') noteAddresses(running.daemon, context);
      const kept = reloaded.outcome === 'refused' || reloaded.outcome === 'failed';
      await notifyServiceManager(kept ? 'kept' : 'ready', env, running.parts.logger);
    }
    await notifyServiceManager('stopping', env, running.parts.logger);
    await running.daemon.close();
  } finally {
    await watchdog.close();
  }
  return exitCodes.done;
}

function noteAddresses({ receiverUrl, consoleUrl }: Daemon, { out }: CommandContext): void {
  if (receiverUrl !== null) out.note(`receiving webhooks at ${receiverUrl}`);
  if (consoleUrl !== null) out.note(`dashboard at ${consoleUrl}/`);
}
