import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';

export const sourcesFollow: Command = {
  name: 'sources follow',
  summary: 'Follow a forgotten source again',
  examples: [
    ['rosterd sources follow acme', 'the daemon asks for a token and lists it anew'],
    ['rosterd sources follow acme --json', 'prints the entry of the registry'],
  ],
  args: [{ name: '<name>', summary: 'the name of a source that `sources forget` erased' }],
  options: [...configOptions, jsonOption],
  async run(context) {
    const { args, options, out, io, signal } = context;
    const { config } = await configOf(context);
    const { noSource } = await import('../../reading/sources.js');
    const { followAgain } = await import('../../tasks/forget-source.js');
    const { parseSourceName } = await import('../../domain/ids.js');
    const name = parseSourceName(args[0]);
    if (name === undefined) throw noSource(args[0] ?? '');
    const { source, rule, target, installation, state } = await followAgain(config, name, io.clock, signal);
    if (options.flag('json')) out.json({ source, rule, target, installation, state });
    else out.line(`${source}: waits for its token; the rule ${rule} follows ${target} again`);
    return exitCodes.done;
  },
};
