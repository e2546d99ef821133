import { type Command, configOptions, jsonOption } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { selectedSources, selectionOptions } from '../named-sources.js';
import { printResumed } from '../print-resumed.js';

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
    const isAll = options.flag('all');
    const done = await resume(config, isAll ? null : names, io.clock);
    if (options.flag('json')) out.json(done.stillPaused);
    else await printResumed(context, config, { ...done, names, isAll });
    return exitCodes.done;
  },
};
