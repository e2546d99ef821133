import { Fault } from '../../domain/fault.js';
import type { QueryHandle, SqlValue } from '../../reading/query.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { databaseOptions, placeOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../output/output.js';
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
    const { gathered, queryCsv, runQuery } = await import('../../reading/query.js');
    const result = await runQuery(place, sql, { rowsMax, timeoutMs }, io.clock, signal);
    try {
      if (asCsv) await writePieces(io.stdout, queryCsv(result), signal);
      else await writePieces(io.stdout, gathered(shownBy(result, context)), signal);
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

/** Rows as they are found: what is in memory does not grow with the result. */
const shownBy = (result: QueryHandle, { options, out, io }: CommandContext): AsyncIterable<string> =>
  options.flag('json') ? jsonArray(result, io.stdout.isTTY === true) : tableText(result, out);

/** As `JSON.stringify` writes the whole: in one line for programs, indented for people. */
async function* jsonArray({ columns, rows }: QueryHandle, indented: boolean): AsyncGenerator<string> {
  const keys = distinct(columns);
  const [begin, between, end] = indented ? ['[\n', ',\n', '\n]\n'] : ['[', ',', ']\n'];
  let before = begin;
  for await (const row of rows) {
    const text = JSON.stringify(objectOf(keys, row), null, indented ? 2 : undefined);
    yield before + (indented ? `  ${text.replaceAll('\n', '\n  ')}` : text);
    before = between;
  }
  yield before === begin ? '[]\n' : end;
}

/** Columns are as wide as the first thousand rows want them: all of them, unless more were asked for. */
async function* tableText({ columns, rows }: QueryHandle, out: Output): AsyncGenerator<string> {
  const reading = rows[Symbol.asyncIterator]();
  const first: (readonly SqlValue[])[] = [];
  let next = await reading.next();
  for (; next.done !== true && first.length < rowsShownMax; next = await reading.next())
    first.push(next.value);
  const lines = out.layout(
    columns.map((title, index) => ({
      title,
      ...(first.every((row) => isNumber(row[index])) ? { align: 'right' as const } : {}),
    })),
    first.map((row) => row.map(shown)),
  );
  let index = 0;
  for (const row of first) yield textOf(lines(row.map(shown), index++));
  for (; next.done !== true; next = await reading.next()) yield textOf(lines(next.value.map(shown), index++));
}

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

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
