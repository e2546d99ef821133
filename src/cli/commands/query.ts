import { Fault } from '../../domain/fault.js';
import type { QueryHandle, SqlValue } from '../../reading/query.js';
import { asOfOption, asOfPast } from '../as-of.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { databaseOptions, locationOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../output/output.js';
import { writePieces } from '../output/write-pieces.js';

const rowsShownMax = 1_000;
/** Far longer than any hand-written statement, far smaller than memory. */
const sqlCharactersMax = 1_000_000;

export const query: Command = {
  name: 'query',
  summary: 'Run one read-only SQL statement on the mirror',
  examples: [
    [
      'rosterd query "SELECT status, count(*) FROM investments GROUP BY 1"',
      'prints a table; rows too wide for the terminal become blocks',
    ],
    ['rosterd query "SELECT * FROM round_totals" --json', 'prints one JSON array of objects'],
    [
      'rosterd query --csv - < report.sql > report.csv',
      'reads a longer statement from stdin, prints all rows as CSV',
    ],
    [
      'rosterd query --as-of 2026-03-31 "SELECT * FROM round_totals"',
      'reads the views as they stood at the end of that day',
    ],
  ],
  args: [{ name: '<sql>', summary: 'one SELECT, or - to read it from stdin' }],
  options: [
    ...databaseOptions,
    jsonOption,
    asOfOption,
    { flags: '--csv', summary: 'print CSV; text that looks like a formula is escaped' },
    {
      flags: '--limit <rows>',
      summary: `stop after this many rows (default: ${rowsShownMax}; none with --csv)`,
    },
    { flags: '--timeout <seconds>', summary: 'cancel the statement after this time (default: 30)' },
  ],
  async run(context) {
    const { options, out, io, signal } = context;
    const asCsv = options.flag('csv');
    if (asCsv && options.flag('json')) throw new Fault('usage', '--csv and --json exclude each other');
    const limit = options.whole('limit', { min: 1, max: 10_000_000 });
    const moment = asOfPast(options, io.clock.now());
    const rowsMax = limit ?? (asCsv ? null : rowsShownMax);
    const timeoutMs = (options.whole('timeout', { min: 1, max: 3_600 }) ?? 30) * 1_000;
    const location = await locationOf(context);
    const sql = await sqlOf(context);
    const { gathered, queryCsv, runQuery } = await import('../../reading/query.js');
    const result = await runQuery(location, sql, { rowsMax, timeoutMs, ...moment }, io.clock, signal);
    try {
      for (const { source, from } of result.younger)
        out.warn(`${source}: its history begins at ${from}, after the requested time`);
      if (asCsv) await writePieces(io.stdout, queryCsv(result), signal);
      else await writePieces(io.stdout, gathered(shownBy(result, context)), signal);
    } finally {
      result.close();
    }
    if (result.truncated()) out.warn(`only the first ${rowsMax} rows are shown; use --limit to show more`);
    return exitCodes.done;
  },
};

async function sqlOf({ args, io, signal }: CommandContext): Promise<string> {
  const [sql = ''] = args;
  if (sql !== '-') return sql;
  const { addAbortSignal } = await import('node:stream');
  let text = '';
  try {
    for await (const chunk of addAbortSignal(signal, io.stdin.setEncoding('utf8'))) {
      text += String(chunk);
      if (text.length > sqlCharactersMax)
        throw new Fault('usage', `stdin holds more than ${sqlCharactersMax} characters`, {
          hint: 'one SELECT statement is read from it',
        });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Fault('stopped', 'stopped before the end of stdin');
  }
  const { withoutByteOrderMark } = await import('../../domain/text.js');
  return withoutByteOrderMark(text);
}

/** Yields rows as they are read, so that memory does not grow with the result. */
const shownBy = (result: QueryHandle, { options, out, io }: CommandContext): AsyncIterable<string> =>
  options.flag('json') ? jsonArray(result, io.stdout.isTTY === true) : tableText(result, out);

/** Yields what `JSON.stringify` would print for the whole: one line for programs, indented for people. */
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

/** The first thousand rows set the width of the columns; that is every row unless `--limit` asked for more. */
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

/** Numbers duplicate column names, which a join can return: an object would silently keep only the last one. */
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

/** Numbers that JSON cannot represent exactly become text: large integers, Infinity and NaN. */
function objectOf(columns: readonly string[], row: readonly SqlValue[]): Record<string, unknown> {
  return Object.fromEntries(
    columns.map((name, index) => {
      const value = row[index] ?? null;
      const isText = typeof value === 'bigint' || value instanceof Uint8Array || isBeyond(value);
      return [name, isText ? shown(value) : value];
    }),
  );
}

const isBeyond = (value: SqlValue): boolean => typeof value === 'number' && !Number.isFinite(value);
