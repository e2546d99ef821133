import { counted } from '../../domain/counted.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { namesMax, selectedSources, selectionOptions } from '../named-sources.js';

export const sourcesPause: Command = {
  name: 'sources pause',
  summary: 'Stop syncing sources by name until resume; webhooks are still accepted',
  examples: [
    ['rosterd sources pause acme copper', 'two sources; a running daemon obeys within a second'],
    ['rosterd sources pause --rule crm', 'every source that a follow rule created'],
  ],
  args: [{ name: '[names...]', summary: 'the names of the sources' }],
  options: [...configOptions, ...selectionOptions, jsonOption],
  async run(context) {
    const { io, out, options } = context;
    const { config, names, selection } = await selectedSources(context);
    const { pause } = await import('../../tasks/pause.js');
    const chosen = new Set(names);
    const paused = (await pause(config, names, io.clock)).filter(({ source }) => chosen.has(source));
    if (options.flag('json')) out.json(paused);
    else if (paused.length > namesMax) out.line(`${counted(paused.length, 'source')} paused`);
    else for (const { source, paused_at } of paused) out.line(`${source}: paused since ${paused_at}`);
    out.note(`A page that is being written is finished first. To go on: rosterd sources resume ${selection}`);
    return exitCodes.done;
  },
};
