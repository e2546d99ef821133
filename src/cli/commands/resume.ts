import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { chosenSources } from '../engine-of.js';
import { exitCodes } from '../exit-codes.js';

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
    const sources = asked.length === 0 ? null : (await chosenSources(loaded, asked)).map(({ name }) => name);
    const { resume } = await import('../../tasks/pause.js');
    const paused = await resume(loaded.config, sources, io.clock);
    if (options.flag('json')) out.json(paused);
    else if (paused.length === 0) out.line('no source is paused');
    else for (const { source, paused_at } of paused) out.line(`${source}: still paused since ${paused_at}`);
    return exitCodes.done;
  },
};
