import pg from 'pg';
import { Fault } from '../../../domain/fault.js';
import type { Clock } from '../../../runtime/clock.js';
import { addressText } from '../../place.js';
import { endedEarly, notOneStatement, notValid, onlyReads, tooSlow } from '../../query-refusals.js';
import type { QueryHandle, QueryLimits, SqlValue } from '../../reads/query.js';
import { postgresFault } from './faults.js';
import { refuseIdentity } from './refuse-identity.js';

const batchRows = 500;
const connectTimeoutMs = 5_000;

type Row = readonly SqlValue[];

/**
 * Runs one reading statement on a connection of its own, in a transaction that cannot write, through a cursor of
 * the server: what is in memory is one batch, whatever the answer's size. The time limit is the server's, which
 * ends the statement itself; a signal cuts the connection, which the server notices within a second.
 */
export async function queryPostgres(
  url: string,
  sql: string,
  limits: QueryLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<QueryHandle> {
  const shown = addressText(url);
  const client = new pg.Client({
    connectionString: url,
    application_name: 'rosterd-query',
    connectionTimeoutMillis: connectTimeoutMs,
    types: { getTypeParser: (oid: number) => parserOf(oid) } as pg.CustomTypesConfig,
  });
  // What breaks a connection is told by the statement that was on it.
  client.on('error', () => {});
  let cause: Fault | undefined;
  let open = true;
  const ended = new AbortController();
  const close = () => {
    if (!open) return;
    open = false;
    ended.abort();
    signal.removeEventListener('abort', onAbort);
    cut(client);
  };
  const stop = (reason: Fault) => {
    cause ??= reason;
    close();
  };
  const onAbort = () => stop(endedEarly());
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  // The server's limit is for one statement; fetching the answer piece by piece is several.
  void clock.wait(limits.timeoutMs, ended.signal).then(() => {
    if (!ended.signal.aborted) stop(tooSlow(limits.timeoutMs));
  });

  const attempt = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      if (cause !== undefined) throw cause;
      return await work();
    } catch (error) {
      close();
      throw cause ?? queryFault(error, limits.timeoutMs, shown);
    }
  };
  const first = await attempt(async () => {
    await client.connect();
    await client.query(opening(limits.timeoutMs));
    if (limits.identity === false) await refuseIdentity(client, sql);
    return await begin(client, sql);
  });

  let truncated = false;
  async function* rows(): AsyncGenerator<Row> {
    try {
      let seen = 0;
      for (let batch = first; batch.rows.length > 0; batch = await attempt(batch.next)) {
        for (const row of batch.rows) {
          if (seen === limits.rowsMax) {
            truncated = true;
            return;
          }
          seen += 1;
          yield row;
        }
      }
    } finally {
      close();
    }
  }
  return { columns: first.columns, rows: rows(), truncated: () => truncated, close };
}

const opening = (timeoutMs: number): string =>
  [
    'BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY',
    `SET LOCAL statement_timeout = ${timeoutMs}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${timeoutMs + 60_000}`,
    'SET LOCAL client_connection_check_interval = 1000',
  ].join('; ');

interface Batch {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  readonly next: () => Promise<Batch>;
}

/** EXPLAIN and SHOW have no cursor to be fetched from piece by piece; their answers are short. */
const shortAnswer = /^\s*(?:explain|show)\b/i;

/** As one statement of the extended protocol, which refuses two in one text. */
async function begin(client: pg.Client, sql: string): Promise<Batch> {
  const run = async (text: string) =>
    await client.query({ text, rowMode: 'array', queryMode: 'extended' } as pg.QueryArrayConfig);
  if (shortAnswer.test(sql)) {
    const { fields, rows } = await run(sql);
    const columns = fields.map(({ name }) => name);
    const none = async (): Promise<Batch> => ({ columns, rows: [], next: none });
    return { columns, rows: rows as Row[], next: none };
  }
  await run(`DECLARE rosterd_query NO SCROLL CURSOR FOR ${sql}`);
  const next = async (): Promise<Batch> => {
    const { fields, rows } = await run(`FETCH ${batchRows} FROM rosterd_query`);
    return { columns: fields.map(({ name }) => name), rows: rows as Row[], next };
  };
  return next();
}

/** Not `end`, which waits for the statement that is running. */
function cut(client: pg.Client): void {
  client.connection.stream.destroy();
}

/** Class 42 is about the text of the statement, 22 about the values it meets. */
function queryFault(error: unknown, timeoutMs: number, url: string): unknown {
  const { code, message } = error as { readonly code?: unknown; readonly message?: string };
  if (code === '57014') return tooSlow(timeoutMs);
  if (code === '42501')
    return new Fault('usage', `the query failed: ${message}`, {
      hint: 'Names are for the role rosterd_identity, everything else for rosterd_analyst: ask for a grant.',
    });
  const writes = code === '25006' || /data-modifying|INTO is not allowed|specify INTO/i.test(message ?? '');
  const noReading =
    /near "(?:insert|update|delete|merge|create|drop|alter|truncate|copy|vacuum|set|begin|commit|grant|revoke|call|do|refresh|listen|notify|lock|analyze|reindex)"/i;
  if (writes || (code === '42601' && noReading.test(message ?? '')))
    return onlyReads('SELECT, WITH, VALUES, TABLE, EXPLAIN or SHOW');
  if (code === '42601' && /multiple commands/.test(message ?? '')) return notOneStatement();
  if (typeof code === 'string' && /^42/.test(code)) return notValid(String(message));
  if (typeof code === 'string' && /^(?:22|0A|2[135]|54)/.test(code))
    return new Fault('usage', `the query failed: ${message}`);
  return postgresFault(error, url);
}

const { builtins } = pg.types;
const whole: ReadonlySet<number> = new Set([builtins.INT2, builtins.INT4, builtins.INT8, builtins.OID]);
const real: ReadonlySet<number> = new Set([builtins.FLOAT4, builtins.FLOAT8]);

/** As SQLite answers: whole numbers exactly, truth as 1 and 0, bytes as bytes, everything else as its text. */
function parserOf(oid: number): (text: string) => SqlValue {
  if (whole.has(oid)) return exact;
  if (real.has(oid)) return Number;
  if (oid === builtins.NUMERIC) return numeric;
  if (oid === builtins.BOOL) return (text) => (text === 't' ? 1 : 0);
  if (oid === builtins.BYTEA) return (text) => Buffer.from(text.slice(2), 'hex');
  return (text) => text;
}

const exact = (text: string): SqlValue => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text));

/** A decimal that a number of JavaScript holds exactly is one; any other keeps its digits as text. */
function numeric(text: string): SqlValue {
  if (/^-?\d+$/.test(text)) return exact(text);
  const short = text.replace(/\.?0+$/, '');
  if (/^-?\d+$/.test(short)) return exact(short);
  return String(Number(short)) === short ? Number(short) : text;
}
