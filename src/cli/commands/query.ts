import type { SqlValue } from '../../daemon/query.js';
import { type Command, jsonOption } from '../command.js';
import { databaseFileOf, databaseOptions } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';

const rowsShownMax = 1_000;

export const query: Command = {
  name: 'query',
  summary: 'Run one reading SQL statement on the mirror',
  examples: [
    ['rosterd query "SELECT status, count(*) FROM investments GROUP BY 1"', 'a table'],
    ['rosterd query "SELECT * FROM round_totals" --json', 'one JSON array of objects'],
  ],
  args: [{ name: '<sql>', summary: 'one SELECT; see schema/dictionary.md for what there is' }],
  options: [
    ...databaseOptions,
    jsonOption,
    { flags: '--limit <rows>', summary: `stop after so many rows (default: ${rowsShownMax})` },
    { flags: '--timeout <seconds>', summary: 'interrupt it after so long (default: 30)' },
  ],
  async run(context) {
    const { args, options, out, io, signal } = context;
    const rowsMax = options.whole('limit', { min: 1, max: 10_000_000 }) ?? rowsShownMax;
    const seconds = options.whole('timeout', { min: 1, max: 3_600 }) ?? 30;
    const file = await databaseFileOf(context);
    const { runQuery } = await import('../../daemon/query.js');
    const limits = { rowsMax, timeoutMs: seconds * 1_000 };
    const result = await runQuery(file, args[0] ?? '', limits, io.clock, signal);
    const rows: (readonly SqlValue[])[] = [];
    for await (const row of result.rows) rows.push(row);
    if (options.flag('json')) out.json(rows.map((row) => objectOf(result.columns, row)));
    else {
      out.table(
        result.columns.map((title, index) => ({
          title,
          ...(rows.every((row) => isNumber(row[index])) ? { align: 'right' as const } : {}),
        })),
        rows.map((row) => row.map(shown)),
      );
    }
    if (result.truncated()) out.warn(`only the first ${rowsMax} rows are shown; --limit shows more`);
    return exitCodes.done;
  },
};

const isNumber = (value: SqlValue | undefined): boolean =>
  value === null || typeof value === 'number' || typeof value === 'bigint';

function shown(value: SqlValue): string {
  if (value === null) return '';
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : String(value);
}

/** Integers JSON cannot hold exactly stay text. */
function objectOf(columns: readonly string[], row: readonly SqlValue[]): Record<string, unknown> {
  return Object.fromEntries(
    columns.map((name, index) => {
      const value = row[index] ?? null;
      return [name, typeof value === 'bigint' || value instanceof Uint8Array ? shown(value) : value];
    }),
  );
}
