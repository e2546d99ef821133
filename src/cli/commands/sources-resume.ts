import { counted } from '../../domain/counted.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { namesMax, selectedSources, selectionOptions } from '../named-sources.js';

export const sourcesResume: Command = {
  name: 'sources resume',
  summary: 'Sync paused sources again, by name',
  examples: [
    ['rosterd sources resume acme', 'a running daemon goes on within a second'],
    ['rosterd sources resume --all', 'every source that is paused'],
  ],
  args: [{ name: '[names...]', summary: 'the names of the sources' }],
  options: [...configOptions, ...selectionOptions, jsonOption],
  async run(context) {
    const { io, out, options } = context;
    const { config, names } = await selectedSources(context);
    const { resume } = await import('../../tasks/pause.js');
    const left = await resume(config, options.flag('all') ? null : names, io.clock);
    if (options.flag('json')) out.json(left);
    else {
      out.line(
        names.length > namesMax
          ? `${counted(names.length, 'source')} resumed`
          : `resumed: ${names.join(', ')}`,
      );
      if (left.length > 0)
        out.note(`${counted(left.length, 'source')} still paused: rosterd sources list --state paused`);
    }
    return exitCodes.done;
  },
};
