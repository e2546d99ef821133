import { counted } from '../../domain/counted.js';
import { type Command, jsonOption } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';

export const schema: Command = {
  name: 'schema',
  summary: 'Which schema the mirror has, and what this version would change in it',
  examples: [
    ['rosterd schema', 'a dry run: names the migrations that are pending, writes nothing'],
    ['rosterd schema --apply', 'runs them, after a copy of the file; run and sync do so too'],
  ],
  options: [
    ...databaseOptions,
    { flags: '--apply', summary: 'run what is pending, after a copy of the file was made beside it' },
    jsonOption,
  ],
  async run(context) {
    const { options, out, io } = context;
    const { place } = await mirrorOf(context);
    const { schemaOf } = await import('../../tasks/schema.js');
    const state = schemaOf(place, io.clock, options.flag('apply'));
    if (options.flag('json')) {
      out.json(state);
      return exitCodes.done;
    }
    out.line(`schema ${state.schema} of ${state.newest}: ${state.file}`);
    for (const name of state.ran) out.line(`ran      ${name}`);
    for (const name of state.pending) out.line(`pending  ${name}`);
    if (state.backup !== null) out.line(`copy of before: ${state.backup}`);
    if (state.pending.length > 0)
      out.note(`${counted(state.pending.length, 'migration')} pending. Try: rosterd schema --apply`);
    return exitCodes.done;
  },
};
