import type pg from 'pg';
import type { Clock } from '../../../runtime/clock.js';
import { addressText } from '../../database-location.js';
import { needsPrimary } from '../../query-refusals.js';
import type { YoungerSource } from '../../reads/as-of-reach.js';
import { bytesOf, ResultSize, rowBytesMaxDefault } from '../../reads/result-size.js';
import { statementText } from '../../statement-text.js';
import type { QueryHandle, QueryLimits, SqlValue } from '../port.js';
import { readAsOf } from './as-of.js';
import { withoutNames } from './masked-query.js';
import { type ArrivingBytes, QueryConnection } from './query-connection.js';
import { queryFault } from './query-faults.js';
import { parserOf } from './query-values.js';
import { declaring, readsOnly, requireNoAudit, requireNoVault, shortAnswer } from './query-without-audit.js';
import { requireReadingCalls } from './reading-calls.js';
import { cellsOf } from './row-text.js';

const batchRowsMax = 500;
/** The first batch is small, because the width of the rows is not known yet. */
const batchRowsFirst = 16;
const batchBytes = 256 * 1_024;

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
  const size = {
    rowBytesMax: limits.rowBytesMax ?? rowBytesMaxDefault,
    bytesMax: limits.bytesMax ?? null,
  };
  const { timeoutMs } = limits;
  const statement = statementText(sql, 'nested');
  const masked = limits.identity === false;
  const connection = new QueryConnection(url, { timeoutMs, rowBytesMax: size.rowBytesMax }, clock, signal);
  const { client, arriving } = connection;
  const asked = { timeoutMs, url: addressText(url), statement, masked, ...size };
  const attempt = <Result>(work: () => Promise<Result>): Promise<Result> =>
    connection.attempt(work, (error) => queryFault(error, asked));
  const { asOf } = limits;
  let younger: readonly YoungerSource[] = [];
  const first = await attempt(async () => {
    await connection.open();
    // Views and functions for the statement are created first, and roll back with the transaction.
    const prepares = masked || asOf !== undefined || limits.audit === false;
    if (prepares) await client.query(opening(timeoutMs, 'READ WRITE')).catch(refuseStandby(limits));
    else await client.query(opening(timeoutMs, 'READ ONLY'));
    await requireReadingCalls(client, statement);
    const travel = async () => {
      if (asOf !== undefined) younger = await readAsOf(client, asOf, statement);
    };
    if (!masked) {
      await travel();
      await requireNoVault(client, statement);
      if (limits.audit === false) await requireNoAudit(client, statement);
      // Irreversible, as in masked-query.ts.
      else if (asOf !== undefined) await client.query('SET TRANSACTION READ ONLY');
      return await begin(client, statement, timeoutMs, arriving);
    }
    const rowsMax = limits.rowsMax === null ? null : limits.rowsMax + 1;
    return await beginMasked(client, statement, { ...size, rowsMax, timeoutMs }, travel, arriving);
  });

  const countsReader = limits.countsReader ?? true;
  let truncated = false;
  async function* rows(): AsyncGenerator<Row> {
    try {
      let seen = 0;
      const counted = new ResultSize(size);
      for (let batch = first; batch.rows.length > 0; batch = await attempt(batch.next)) {
        if (!countsReader) connection.pause();
        for (const row of batch.rows) {
          if (seen === limits.rowsMax) {
            truncated = true;
            return;
          }
          seen += 1;
          counted.add(bytesOf(row));
          yield row;
        }
        if (!countsReader) connection.resume();
      }
    } finally {
      connection.close();
    }
  }
  return {
    columns: first.columns,
    younger,
    rows: rows(),
    truncated: () => truncated,
    close: () => connection.close(),
  };
}

/** A standby refuses to open a transaction that could write with feature_not_supported. */
const refuseStandby =
  ({ identity, asOf }: QueryLimits) =>
  (error: unknown): never => {
    if ((error as { readonly code?: unknown }).code !== '0A000') throw error;
    throw needsPrimary(
      identity === false
        ? 'withhold names'
        : asOf === undefined
          ? 'check which tables a statement reads'
          : 'show a past state',
    );
  };

const opening = (timeoutMs: number, access: 'READ ONLY' | 'READ WRITE'): string =>
  `BEGIN ISOLATION LEVEL REPEATABLE READ, ${access}; ${sameOutput}; ${timeLimits(timeoutMs)}`;

/**
 * A role or a database may have other settings. Results are the same with any, but for the time zone, and the statement is read by
 * the server as it is read here, where a backslash in a text is one.
 */
const sameOutput = [
  'standard_conforming_strings = on',
  "datestyle = 'ISO'",
  'intervalstyle = postgres',
  'bytea_output = hex',
  'extra_float_digits = 1',
]
  .map((setting) => `SET LOCAL ${setting}`)
  .join('; ');

const timeLimits = (timeoutMs: number): string =>
  [
    `SET LOCAL statement_timeout = ${timeoutMs}`,
    // Only PostgreSQL 17 and later have it. The connection has a limit of its own.
    "SELECT set_config('transaction_timeout', '0', true) WHERE current_setting('transaction_timeout', true) IS NOT NULL",
    `SET LOCAL idle_in_transaction_session_timeout = ${timeoutMs + 120_000}`,
    'SET LOCAL client_connection_check_interval = 1000',
  ].join('; ');

interface Batch {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  readonly next: () => Promise<Batch>;
}

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
