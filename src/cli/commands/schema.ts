import { counted } from '../../domain/counted.js';
import { type Command, jsonOption } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';

export const schema: Command = {
  name: 'schema',
  summary: 'Show the schema version of the mirror and the pending migrations',
  examples: [
    ['rosterd schema', 'a dry run: lists the pending migrations, writes nothing'],
    ['rosterd schema --apply', 'backs up the file and runs them; run and sync do this too'],
  ],
  options: [
    ...databaseOptions,
    { flags: '--apply', summary: 'back up the file next to it, then run the pending migrations' },
    jsonOption,
  ],
  async run(context) {
    const { options, out, io } = context;
    const { location } = await mirrorOf(context);
    const { schemaOf } = await import('../../tasks/schema.js');
    const state = schemaOf(location, io.clock, options.flag('apply'));
    if (options.flag('json')) {
      out.json(state);
      return exitCodes.done;
    }
    out.line(`schema ${state.schema} of ${state.newest}: ${state.file}`);
    for (const name of state.ran) out.line(`ran      ${name}`);
    for (const name of state.pending) out.line(`pending  ${name}`);
    if (state.backup !== null) out.line(`backup   ${state.backup}`);
    if (state.pending.length > 0)
      out.note(`${counted(state.pending.length, 'migration')} pending. Try: rosterd schema --apply`);
    return exitCodes.done;
  },
};
