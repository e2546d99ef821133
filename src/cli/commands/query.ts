import type { QueryHandle, SqlValue } from '../../daemon/query.js';
import { Fault } from '../../domain/fault.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { databaseOptions, placeOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { writePieces } from '../output/write-pieces.js';

const rowsShownMax = 1_000;
/** Far above any statement a person writes, far below what would fill the memory. */
const sqlCharactersMax = 1_000_000;

export const query: Command = {
  name: 'query',
  summary: 'Run one reading SQL statement on the mirror',
  examples: [
    [
      'rosterd query "SELECT status, count(*) FROM investments GROUP BY 1"',
      'a table; rows too wide for the terminal become blocks',
    ],
    ['rosterd query "SELECT * FROM round_totals" --json', 'one JSON array of objects'],
    ['rosterd query --csv - < report.sql > report.csv', 'all rows of a longer statement, as CSV'],
  ],
  args: [{ name: '<sql>', summary: 'one SELECT, or - to read it from stdin' }],
  options: [
    ...databaseOptions,
    jsonOption,
    { flags: '--csv', summary: 'print CSV; text that begins like a formula is made harmless' },
    {
      flags: '--limit <rows>',
      summary: `stop after so many rows (default: ${rowsShownMax}; none with --csv)`,
    },
    { flags: '--timeout <seconds>', summary: 'interrupt it after so long (default: 30)' },
  ],
  async run(context) {
    const { options, out, io, signal } = context;
    const asCsv = options.flag('csv');
    if (asCsv && options.flag('json')) throw new Fault('usage', '--csv and --json are two forms: choose one');
    const limit = options.whole('limit', { min: 1, max: 10_000_000 });
    const rowsMax = limit ?? (asCsv ? null : rowsShownMax);
    const timeoutMs = (options.whole('timeout', { min: 1, max: 3_600 }) ?? 30) * 1_000;
    const place = await placeOf(context);
    const sql = await sqlOf(context);
    const { queryCsv, runQuery } = await import('../../daemon/query.js');
    const result = await runQuery(place, sql, { rowsMax, timeoutMs }, io.clock, signal);
    try {
      if (asCsv) await writePieces(io.stdout, queryCsv(result), signal);
      else await show(result, context);
    } finally {
      result.close();
    }
    if (result.truncated()) out.warn(`only the first ${rowsMax} rows are shown; --limit shows more`);
    return exitCodes.done;
  },
};

async function sqlOf({ args, io }: CommandContext): Promise<string> {
  const [sql = ''] = args;
  if (sql !== '-') return sql;
  let text = '';
  for await (const chunk of io.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > sqlCharactersMax)
      throw new Fault('usage', `stdin holds more than ${sqlCharactersMax} characters`, {
        hint: 'one SELECT statement is read from it',
      });
  }
  return text;
}

async function show(result: QueryHandle, { options, out }: CommandContext): Promise<void> {
  const rows: (readonly SqlValue[])[] = [];
  for await (const row of result.rows) rows.push(row);
  if (options.flag('json')) {
    const keys = distinct(result.columns);
    return out.json(rows.map((row) => objectOf(keys, row)));
  }
  out.rows(
    result.columns.map((title, index) => ({
      title,
      ...(rows.every((row) => isNumber(row[index])) ? { align: 'right' as const } : {}),
    })),
    rows.map((row) => row.map(shown)),
  );
}

const isNumber = (value: SqlValue | undefined): boolean =>
  value === null || typeof value === 'number' || typeof value === 'bigint';

function shown(value: SqlValue): string {
  if (value === null) return '';
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : String(value);
}

/** A join may answer two columns of one name; an object would keep the last of them and say nothing. */
function distinct(columns: readonly string[]): readonly string[] {
  const taken = new Set(columns);
  const used = new Set<string>();
  return columns.map((column) => {
    let key = column;
    for (let times = 2; used.has(key); times += 1) {
      const numbered = `${column}_${times}`;
      if (!taken.has(numbered)) key = numbered;
    }
    used.add(key);
    return key;
  });
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
