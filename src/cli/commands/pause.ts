import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { chosenSources } from '../engine-of.js';
import { exitCodes } from '../exit-codes.js';

export const pause: Command = {
  name: 'pause',
  summary: 'Stop syncing sources until resume; webhooks are still accepted',
  examples: [
    ['rosterd pause', 'every source; a running daemon obeys within a second'],
    ['rosterd pause --source acme', 'one source; the others go on'],
  ],
  options: [
    ...configOptions,
    { flags: '--source <name>', summary: 'only this source', repeats: true },
    jsonOption,
  ],
  async run(context) {
    const { io, out, options } = context;
    const loaded = await configOf(context);
    const sources = (await chosenSources(loaded, options.list('source'))).map(({ name }) => name);
    const { pause } = await import('../../tasks/pause.js');
    const paused = await pause(loaded.config, sources, io.clock);
    if (options.flag('json')) out.json(paused);
    else for (const { source, paused_at } of paused) out.line(`${source}: paused since ${paused_at}`);
    out.note('A page that is being written is finished first. To go on: rosterd resume');
    return exitCodes.done;
  },
};
