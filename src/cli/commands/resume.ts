import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { chosenSources } from '../engine-of.js';
import { exitCodes } from '../exit-codes.js';
import { printResumed } from '../print-resumed.js';

export const resume: Command = {
  name: 'resume',
  summary: 'Sync paused sources again',
  examples: [
    ['rosterd resume', 'every source; a running daemon goes on within a second'],
    ['rosterd resume --source acme', 'one source; the others stay paused'],
  ],
  options: [
    ...configOptions,
    { flags: '--source <name>', summary: 'only this source', repeats: true },
    jsonOption,
  ],
  async run(context) {
    const { io, out, options } = context;
    const loaded = await configOf(context);
    const asked = options.list('source');
    const chosen = (await chosenSources(loaded, asked)).map(({ name }) => name);
    const { resume } = await import('../../tasks/pause.js');
    const done = await resume(loaded.config, asked.length === 0 ? null : chosen, io.clock);
    if (options.flag('json')) out.json(done.stillPaused);
    else await printResumed(context, loaded.config, { ...done, names: chosen, isAll: asked.length === 0 });
    return exitCodes.done;
  },
};
