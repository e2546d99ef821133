import { packageVersion } from '../../runtime/package-version.js';
import { type Command, configOptions } from '../command.js';
import { configOf } from '../config-options.js';
import { enginePartsOf } from '../engine-of.js';
import { exitCodes } from '../exit-codes.js';
import { untilAborted } from '../until-aborted.js';

export const run: Command = {
  name: 'run',
  summary: 'Follow the platform in the foreground until told to stop',
  examples: [
    ['rosterd run', 'with ./config.json; SIGTERM finishes the page and ends with 0'],
    ['rosterd run --config /etc/rosterd.json --log-format json', 'as a service'],
  ],
  options: configOptions,
  async run(context) {
    const loaded = await configOf(context);
    const parts = await enginePartsOf(context, loaded);
    // Before the rest is loaded, which takes longer: whoever watches sees at once that something begins.
    parts.logger.info({ component: 'daemon', version: packageVersion() }, 'starting');
    const { placeText, startDaemon } = await import('../../daemon/daemon.js');
    const { tellServiceManager } = await import('../../daemon/service-manager.js');
    const daemon = await startDaemon(parts);
    if (daemon.receiverUrl !== null) context.out.note(`receiving webhooks at ${daemon.receiverUrl}`);
    if (daemon.consoleUrl !== null) context.out.note(`dashboard at ${daemon.consoleUrl}/`);
    context.out.note(`mirroring into ${placeText(loaded.config.database)}; Ctrl-C to stop`);
    const { env } = context.io;
    await tellServiceManager('ready', env, parts.logger);
    await untilAborted(context.signal);
    await tellServiceManager('stopping', env, parts.logger);
    await daemon.close();
    return exitCodes.done;
  },
};
