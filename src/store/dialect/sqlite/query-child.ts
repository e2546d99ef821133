import Sqlite from 'better-sqlite3';
import { Fault } from '../../../domain/fault.js';
import type { SqlValue } from '../../reads/query.js';
import { connectSqlite } from './connect.js';
import type { QueryDemand, QueryReply, QueryRequest } from './query-messages.js';
import { prepareReading } from './reading-statement.js';
import { refuseIdentity } from './refuse-identity.js';

// The process that runs one query and can be killed in the middle of it: see query.ts.

const batchRows = 500;
const waitMsForLock = 2_000;

let demanded: () => void = () => {};

process.on('message', (demand: QueryDemand) => {
  if (demand.kind === 'more') demanded();
  else void answer(demand.request);
});
process.on('disconnect', () => process.exit(0));

async function answer(request: QueryRequest): Promise<void> {
  try {
    await run(request);
  } catch (error) {
    await send(failure(error));
  }
  process.disconnect();
}

async function run({ file, sql, rowsMax, identity }: QueryRequest): Promise<void> {
  const database = connectSqlite(file, { readonly: true, busyTimeoutMs: waitMsForLock });
  try {
    const statement = prepareReading(database.raw, sql);
    if (!identity) refuseIdentity(database.raw, sql);
    await send({ kind: 'columns', columns: statement.columns().map(({ name }) => name) });
    let batch: SqlValue[][] = [];
    let rows = 0;
    for (const row of statement.iterate()) {
      if (rows === rowsMax) return await finish(batch, true);
      rows += 1;
      batch.push(row.map(smallest));
      if (batch.length === batchRows) {
        await sendRows(batch);
        batch = [];
      }
    }
    await finish(batch, false);
  } finally {
    database.close();
  }
}

async function finish(batch: SqlValue[][], truncated: boolean): Promise<void> {
  if (batch.length > 0) await sendRows(batch);
  await send({ kind: 'end', truncated });
}

/** Waits until the other side wants more, so that a slow reader does not fill its memory. */
async function sendRows(rows: SqlValue[][]): Promise<void> {
  const wanted = new Promise<void>((resolve) => {
    demanded = resolve;
  });
  await send({ kind: 'rows', rows });
  await wanted;
}

function send(reply: QueryReply): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(reply, undefined, undefined, (error) => (error === null ? resolve() : reject(error)));
  });
}

function smallest(value: SqlValue): SqlValue {
  return typeof value === 'bigint' && value === BigInt(Number(value)) && Number.isSafeInteger(Number(value))
    ? Number(value)
    : value;
}

function failure(error: unknown): QueryReply {
  if (error instanceof Fault) {
    const code = error.code === 'usage' || error.code === 'database_busy' ? error.code : 'database_unusable';
    return { kind: 'failed', code, message: error.message, hint: error.about.hint ?? null };
  }
  if (error instanceof Sqlite.SqliteError)
    return { kind: 'failed', code: 'usage', message: `the query failed: ${error.message}`, hint: null };
  return { kind: 'failed', code: 'internal', message: String(error), hint: null };
}
