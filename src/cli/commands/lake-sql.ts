import { defined } from '../../domain/defined.js';
import { asOf, asOfOption } from '../as-of.js';
import type { Command } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { pathArgument } from '../path-argument.js';

export const lakeSql: Command = {
  name: 'lake sql',
  summary: 'Print the statements that show a lake as views in DuckDB',
  examples: [
    [
      'rosterd lake sql ./lake > lake.sql',
      'duckdb -init lake.sql then has investments, companies and rounds',
    ],
    ['rosterd lake sql ./lake --as-of 2026-03-31', 'the last snapshot of that day or before'],
  ],
  args: [{ name: '<dir>', summary: 'folder of the lake' }],
  options: [
    { ...asOfOption, summary: 'the last snapshot up to this time; a date means the end of that day in UTC' },
    { flags: '--snapshot <n>', summary: 'the snapshot with this number (default: the current one)' },
  ],
  async run(context) {
    const { args, io, options, out } = context;
    const { lakeViews } = await import('../../reading/lake.js');
    const snapshot = options.whole('snapshot', { min: 1, max: 999_999_999_999 });
    const views = lakeViews({
      folder: pathArgument(args[0] ?? '', '<dir>', context),
      ...asOf(options, io.clock.now()),
      ...defined({ snapshot }),
    });
    for (const line of views.trimEnd().split('\n')) out.line(line);
    return exitCodes.done;
  },
};
