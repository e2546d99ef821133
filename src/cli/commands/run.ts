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
    const { startDaemon } = await import('../../daemon/daemon.js');
    const daemon = await startDaemon(await enginePartsOf(context, loaded));
    if (daemon.receiverUrl !== null) context.out.note(`receiving webhooks at ${daemon.receiverUrl}`);
    if (daemon.consoleUrl !== null)
      context.out.note(`status and metrics at ${daemon.consoleUrl}/status.json`);
    context.out.note(`mirroring into ${loaded.config.database.file}; Ctrl-C to stop`);
    await untilAborted(context.signal);
    await daemon.close();
    return exitCodes.done;
  },
};
