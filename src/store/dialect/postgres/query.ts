import pg from 'pg';
import { Fault } from '../../../domain/fault.js';
import type { Clock } from '../../../runtime/clock.js';
import { addressText } from '../../database-location.js';
import { mistakeIn } from '../../mistake.js';
import {
  cannotJudge,
  endedEarly,
  hasNoPast,
  hasParameters,
  notOneStatement,
  notValid,
  readsPeople,
  resultTooLarge,
  rowTooLarge,
  tooSlow,
} from '../../query-refusals.js';
import type { YoungerSource } from '../../reads/as-of-reach.js';
import { bytesOf, ResultSize, rowBytesMaxDefault } from '../../reads/result-size.js';
import { statementText } from '../../statement-text.js';
import type { QueryHandle, QueryLimits, SqlValue } from '../port.js';
import { presentOnlyCode, readAsOf } from './as-of.js';
import { postgresFault } from './faults.js';
import { resultTooLargeCode, rowTooLargeCode, withoutNames } from './masked-query.js';
import { declaring, readsOnly, requireNoAudit, requireNoVault } from './query-without-audit.js';
import { requireReadingCalls } from './reading-calls.js';
import { cellsOf } from './row-text.js';

const batchRowsMax = 500;
/** The first batch is small, because the width of the rows is not known yet. */
const batchRowsFirst = 16;
const batchBytes = 256 * 1_024;
const connectTimeoutMs = 5_000;

type Row = readonly SqlValue[];

/**
 * Runs one read-only statement on its own connection, in a read-only transaction, through a server-side cursor, so that
 * memory holds one batch whatever the size of the result. The server cancels a statement that exceeds the time limit.
 * `signal` closes the connection, which the server notices within a second. Received bytes are counted at the socket: a
 * row above the limit is never in memory, because the connection is closed first.
 */
export async function queryPostgres(
  url: string,
  sql: string,
  limits: QueryLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<QueryHandle> {
  const safeUrl = addressText(url);
  const client = new pg.Client({
    connectionString: url,
    application_name: 'rosterd-query',
    connectionTimeoutMillis: connectTimeoutMs,
    types: { getTypeParser: (oid: number) => parserOf(oid) } as pg.CustomTypesConfig,
  });
  // The statement on a broken connection fails and reports the error.
  client.on('error', () => {});
  let cause: Fault | undefined;
  let open = true;
  const ended = new AbortController();
  const close = () => {
    if (!open) return;
    open = false;
    ended.abort();
    signal.removeEventListener('abort', onAbort);
    destroyConnection(client);
  };
  const stop = (reason: Fault) => {
    cause ??= reason;
    close();
  };
  const onAbort = () => stop(endedEarly());
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  // The server's limit applies to each statement; fetching a result in batches takes several.
  void clock.wait(limits.timeoutMs, ended.signal).then(() => {
    if (!ended.signal.aborted) stop(tooSlow(limits.timeoutMs));
  });

  const size = {
    rowBytesMax: limits.rowBytesMax ?? rowBytesMaxDefault,
    bytesMax: limits.bytesMax ?? null,
  };
  const statement = statementText(sql);
  const masked = limits.identity === false;
  const arriving = new ArrivingBytes(client, size.rowBytesMax, () => stop(rowTooLarge(size.rowBytesMax)));
  const attempt = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      if (cause !== undefined) throw cause;
      return await work();
    } catch (error) {
      close();
      throw (
        cause ?? queryFault(error, { timeoutMs: limits.timeoutMs, url: safeUrl, statement, masked, ...size })
      );
    }
  };
  const { asOf } = limits;
  let younger: readonly YoungerSource[] = [];
  const first = await attempt(async () => {
    await client.connect();
    arriving.watch();
    // Views and functions for the statement are created first, and roll back with the transaction.
    const prepares = masked || asOf !== undefined || limits.audit === false;
    await client.query(opening(limits.timeoutMs, prepares ? 'READ WRITE' : 'READ ONLY'));
    await requireReadingCalls(client, statement);
    const travel = async () => {
      if (asOf !== undefined) younger = await readAsOf(client, asOf);
    };
    if (!masked) {
      await travel();
      await requireNoVault(client, statement);
      if (limits.audit === false) await requireNoAudit(client, statement);
      // Irreversible, as in masked-query.ts.
      else if (asOf !== undefined) await client.query('SET TRANSACTION READ ONLY');
      return await begin(client, statement, limits.timeoutMs, arriving);
    }
    const rowsMax = limits.rowsMax === null ? null : limits.rowsMax + 1;
    return await beginMasked(
      client,
      statement,
      { ...size, rowsMax, timeoutMs: limits.timeoutMs },
      travel,
      arriving,
    );
  });

  let truncated = false;
  async function* rows(): AsyncGenerator<Row> {
    try {
      let seen = 0;
      const counted = new ResultSize(size);
      for (let batch = first; batch.rows.length > 0; batch = await attempt(batch.next)) {
        for (const row of batch.rows) {
          if (seen === limits.rowsMax) {
            truncated = true;
            return;
          }
          seen += 1;
          counted.add(bytesOf(row));
          yield row;
        }
      }
    } finally {
      close();
    }
  }
  return { columns: first.columns, younger, rows: rows(), truncated: () => truncated, close };
}

const opening = (timeoutMs: number, access: 'READ ONLY' | 'READ WRITE'): string =>
  `BEGIN ISOLATION LEVEL REPEATABLE READ, ${access}; ${timeLimits(timeoutMs)}`;

const timeLimits = (timeoutMs: number): string =>
  [
    `SET LOCAL statement_timeout = ${timeoutMs}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${timeoutMs + 60_000}`,
    'SET LOCAL client_connection_check_interval = 1000',
  ].join('; ');

interface Batch {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  readonly next: () => Promise<Batch>;
}

/** EXPLAIN and SHOW cannot be declared as cursors; their results are short. */
const shortAnswer = /^(?:explain|show)\b/i;

/** Uses the extended protocol, which rejects two statements in one text. */
async function begin(
  client: pg.Client,
  statement: string,
  timeoutMs: number,
  arriving: ArrivingBytes,
): Promise<Batch> {
  if (shortAnswer.test(statement)) {
    const { fields, rows } = await extended(client, statement);
    const columns = fields.map(({ name }) => name);
    const none = async (): Promise<Batch> => ({ columns, rows: [], next: none });
    return { columns, rows: rows as Row[], next: none };
  }
  await extended(client, `${declaring}${statement}`);
  return fetched(client, timeoutMs, arriving, ({ fields, rows }) => ({
    columns: fields.map(({ name }) => name),
    rows: rows as Row[],
  }));
}

/** Like `begin`, while names are masked: each row arrives as one text and is split into cells here. */
async function beginMasked(
  client: pg.Client,
  statement: string,
  limits: Parameters<typeof withoutNames>[2] & Pick<QueryLimits, 'timeoutMs'>,
  travel: () => Promise<void>,
  arriving: ArrivingBytes,
): Promise<Batch> {
  const masked = await withoutNames(client, statement, limits, travel);
  if (masked.description === null) throw readsOnly();
  const { columns, types } = masked.description;
  const parsers = types.map(parserOf);
  await extended(client, `${declaring}${masked.text}`, masked.values);
  return fetched(client, limits.timeoutMs, arriving, ({ rows }) => ({
    columns,
    rows: (rows as string[][]).map(([line = '']) =>
      cellsOf(line, columns.length).map((cell, at) => (cell === null ? null : (parsers[at]?.(cell) ?? cell))),
    ),
  }));
}

const extended = async (client: pg.Client, text: string, values: readonly unknown[] = []) =>
  await client.query({
    text,
    values: [...values],
    rowMode: 'array',
    queryMode: 'extended',
  } as pg.QueryArrayConfig);

/**
 * Fetches the first batch. The size of each batch follows from the bytes per row of the one before. The statement may have
 * called set_config, so each batch gets the time limits again: without them the server would go on after the connection
 * is closed.
 */
function fetched(
  client: pg.Client,
  timeoutMs: number,
  arriving: ArrivingBytes,
  read: (result: pg.QueryArrayResult) => Omit<Batch, 'next'>,
): Promise<Batch> {
  let wanted = batchRowsFirst;
  const next = async (): Promise<Batch> => {
    await client.query(timeLimits(timeoutMs));
    arriving.begin();
    const batch = read(await extended(client, `FETCH ${wanted} FROM rosterd_query`));
    const rowBytes = Math.max(1, arriving.bytes / Math.max(1, batch.rows.length));
    wanted = Math.max(1, Math.min(batchRowsMax, wanted * 4, Math.floor(batchBytes / rowBytes)));
    return { ...batch, next };
  };
  return next();
}

/** A row may arrive quoted and with others: a query ends when one result exceeds this many times the largest row. */
const rowsAtOnce = 4;

/** Counts the bytes a connection receives for one result, before the driver has assembled it. */
class ArrivingBytes {
  bytes = 0;

  constructor(
    private readonly client: pg.Client,
    private readonly rowBytesMax: number,
    private readonly onTooMany: () => void,
  ) {}

  /** Call it after connecting: TLS replaces the stream. */
  watch(): void {
    this.client.connection.stream.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (this.bytes > this.rowBytesMax * rowsAtOnce) this.onTooMany();
    });
  }

  begin(): void {
    this.bytes = 0;
  }
}

/** Closes the connection without waiting for the running statement, unlike `end`. */
function destroyConnection(client: pg.Client): void {
  client.connection.stream.destroy();
}

interface Failing {
  readonly timeoutMs: number;
  readonly url: string;
  readonly statement: string;
  readonly masked: boolean;
  readonly rowBytesMax: number;
  readonly bytesMax: number | null;
}

const writingStatement =
  /near "(?:insert|update|delete|merge|create|drop|alter|truncate|copy|vacuum|set|begin|commit|grant|revoke|call|do|refresh|listen|notify|lock|analyze|reindex)"/i;

/** Returns the `Fault` for a failed query. SQLSTATE class 42 is about the statement's text, 22 about values. */
function queryFault(error: unknown, failing: Failing): unknown {
  const { timeoutMs, url, statement, masked, rowBytesMax, bytesMax } = failing;
  if (error instanceof Fault) return error;
  const { code, message } = error as { readonly code?: unknown; readonly message?: string };
  if (typeof code !== 'string') return postgresFault(error, url);
  if (code === '57014') return tooSlow(timeoutMs);
  if (code === presentOnlyCode)
    return hasNoPast(String(message), `the name with its schema, such as public.${message},`);
  if (code === rowTooLargeCode) return rowTooLarge(rowBytesMax);
  if (code === resultTooLargeCode) return resultTooLarge(bytesMax ?? rowBytesMax);
  if (code === '42501' && masked)
    return /denied for (?:schema|table|view|column)/.test(message ?? '')
      ? readsPeople()
      : cannotJudge('it needs rights that the role rosterd_analyst does not have');
  if (code === '42501')
    return new Fault('usage', `the query failed: ${message}`, {
      hint: 'Names are for the role rosterd_identity, everything else for rosterd_analyst: ask for a grant.',
    });
  const writes = code === '25006' || /data-modifying|INTO is not allowed|specify INTO/i.test(message ?? '');
  if (
    writes ||
    (code === '42601' && writingStatement.test(message ?? '')) ||
    /cannot open [A-Z ]+ query as cursor/.test(message ?? '')
  )
    return readsOnly();
  if (code === '42601' && /multiple commands/.test(message ?? '')) return notOneStatement();
  if (code === '42P02') return hasParameters();
  if (/^42/.test(code))
    return notValid(
      String(message),
      undefined,
      mistakeIn(statement, String(message), placeOf(error, failing)),
    );
  if (!/^(?:22|0A|2[135]|54|P0|38|39)/.test(code)) return postgresFault(error, url);
  return new Fault('usage', `the query failed: ${masked ? withoutValues(code) : message}`);
}

/** The server counts characters from 1, in the text that it was sent. */
function placeOf(error: unknown, { statement, masked }: Failing): number | undefined {
  const { position, internalQuery } = error as {
    readonly position?: string;
    readonly internalQuery?: string;
  };
  if (position === undefined || internalQuery !== undefined) return undefined;
  // While names are masked, the statement is described as it is.
  const before = masked || shortAnswer.test(statement) ? 0 : declaring.length;
  const from = Number(position) - 1 - before;
  return from >= 0 && from <= statement.length ? from : undefined;
}

/** The server's messages may quote values. While names are masked, this message replaces them. */
const withoutValues = (code: string): string =>
  `${meanings[code] ?? 'the server refused a value it met'} (SQLSTATE ${code})`;

const meanings: Readonly<Record<string, string>> = {
  '22P02': 'a text cannot be converted to the type that was asked for',
  '22003': 'a number is out of range',
  '22007': 'a text is no date or time',
  '22008': 'a date or time is out of range',
  '22012': 'division by zero',
  '21000': 'a subquery used as a value returned more than one row',
  '54000': 'a value is larger than the server allows',
};

const { builtins } = pg.types;
const whole: ReadonlySet<number> = new Set([builtins.INT2, builtins.INT4, builtins.INT8, builtins.OID]);
const real: ReadonlySet<number> = new Set([builtins.FLOAT4, builtins.FLOAT8]);

/** Returns values as SQLite does: integers exactly, booleans as 1 and 0, bytes as bytes, everything else as text. */
function parserOf(oid: number): (text: string) => SqlValue {
  if (whole.has(oid)) return exact;
  if (real.has(oid)) return Number;
  if (oid === builtins.NUMERIC) return numeric;
  if (oid === builtins.BOOL) return (text) => (text === 't' ? 1 : 0);
  if (oid === builtins.BYTEA) return (text) => Buffer.from(text.slice(2), 'hex');
  return (text) => text;
}

const exact = (text: string): SqlValue => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text));

/** Returns a number if JavaScript can represent the decimal exactly, and otherwise its text. */
function numeric(text: string): SqlValue {
  if (/^-?\d+$/.test(text)) return exact(text);
  const short = text.replace(/\.?0+$/, '');
  if (/^-?\d+$/.test(short)) return exact(short);
  return String(Number(short)) === short ? Number(short) : text;
}
