import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';

export const configShow: Command = {
  name: 'config show',
  summary: 'Print every effective value and where it comes from; secrets stay hidden',
  examples: [
    ['rosterd config show', 'as a table'],
    ['ROSTERD_SYNC__PER_PAGE=50 rosterd config show --json', 'for a script'],
  ],
  options: [...configOptions, jsonOption],
  async run(context) {
    const { effectiveSettings } = await import('../../config/describe.js');
    const rows = effectiveSettings(await configOf(context));
    if (context.options.flag('json')) context.out.json(rows);
    else {
      context.out.table(
        [{ title: 'OPTION' }, { title: 'VALUE' }, { title: 'FROM' }],
        rows.map(({ path, value, from }) => [
          path,
          typeof value === 'string' ? value : JSON.stringify(value),
          from,
        ]),
      );
    }
    return exitCodes.done;
  },
};
