import Sqlite from 'better-sqlite3';
import { Fault } from '../../../domain/fault.js';
import { descriptorLimit, descriptorsFault } from '../../../runtime/file-descriptors.js';
import { incompleteInstallation } from '../../../runtime/incomplete-installation.js';
import { endWhenLargerOrOrphaned } from '../../../runtime/memory-limit.js';
import { endWithParent } from '../../../runtime/own-child.js';
import { failedOnRows, hasParameters, rowTooLarge, tooMuchMemory } from '../../query-refusals.js';
import { bytesOf, ResultSize } from '../../reads/result-size.js';
import { statementText } from '../../statement-text.js';
import type { SqlValue } from '../port.js';
import { readAsOf } from './as-of.js';
import { connectSqlite } from './connect.js';
import { sqliteFault } from './faults.js';
import { prepareMasked, prepareWithoutAudit } from './judge-program.js';
import type { QueryDemand, QueryReply, QueryRequest } from './query-messages.js';
import { lacksParameters, prepareReading } from './reading-statement.js';
import { belowName, hideUnknownFields } from './unknown-fields.js';

// The child process that runs one query and can be killed while it runs: see query.ts.

const batchRows = 500;
/** The size of a batch in bytes; neither process has more than one batch in memory. */
const batchBytes = 256 * 1_024;
const waitMsForLock = 2_000;

let resume: () => void = () => {};

endWithParent();
// Read while a descriptor is free, for the error of a lack of them.
descriptorLimit();
process.on('message', (demand: QueryDemand) => {
  if (demand.kind === 'more') resume();
  else void runAndReport(demand.request);
});

async function runAndReport(request: QueryRequest): Promise<void> {
  endWhenLargerOrOrphaned(request.memoryMegabytes);
  try {
    await run(request);
  } catch (error) {
    await send(failure(faultOf(error, request)));
  }
  process.disconnect();
}

async function run(request: QueryRequest): Promise<void> {
  const database = connectSqlite(request.file, { readonly: true, busyTimeoutMs: waitMsForLock });
  try {
    const { raw } = database;
    const text = statementText(request.sql, 'flat');
    if (!request.identity) hideUnknownFields(raw, request.asOf !== null);
    const below = request.identity ? undefined : belowName;
    const younger = request.asOf === null ? [] : readAsOf(raw, request.asOf, below);
    const statement = preparedFor(request, raw, text);
    await send({ kind: 'columns', columns: statement.columns().map(({ name }) => name), younger });
    await sendAll(statement, request);
  } finally {
    database.close();
  }
}

function preparedFor({ identity, audit }: QueryRequest, raw: Sqlite.Database, text: string): Reading {
  // The tables of the audit log are closed while names are masked.
  if (!identity) return prepareMasked(raw, text);
  return audit ? prepareReading(raw, text) : prepareWithoutAudit(raw, text);
}

type Reading = ReturnType<typeof prepareReading>;

async function sendAll(statement: Reading, { rowsMax, rowBytesMax, bytesMax }: QueryRequest): Promise<void> {
  const size = new ResultSize({ rowBytesMax, bytesMax });
  let batch: SqlValue[][] = [];
  let bytes = 0;
  let rows = 0;
  for (const row of statement.iterate()) {
    if (rows === rowsMax) return await finish(batch, true);
    rows += 1;
    const rowBytes = bytesOf(row);
    size.add(rowBytes);
    bytes += rowBytes;
    batch.push(row.map(toNumberIfSafe));
    if (batch.length < batchRows && bytes < batchBytes) continue;
    await sendRows(batch);
    batch = [];
    bytes = 0;
  }
  await finish(batch, false);
}

async function finish(batch: SqlValue[][], truncated: boolean): Promise<void> {
  if (batch.length > 0) await sendRows(batch);
  await send({ kind: 'end', truncated });
}

/** Sends a batch and waits until the parent asks for more, so that a slow reader does not fill its memory. */
async function sendRows(rows: SqlValue[][]): Promise<void> {
  const more = new Promise<void>((resolve) => {
    resume = resolve;
  });
  await send({ kind: 'rows', rows });
  await more;
}

function send(reply: QueryReply): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(reply, undefined, undefined, (error) => (error === null ? resolve() : reject(error)));
  });
}

function toNumberIfSafe(value: SqlValue): SqlValue {
  return typeof value === 'bigint' && value === BigInt(Number(value)) && Number.isSafeInteger(Number(value))
    ? Number(value)
    : value;
}

function failure({ code, message, about }: Fault): QueryReply {
  return { kind: 'failed', code, message, hint: about.hint ?? null, place: about.place ?? null };
}

function faultOf(error: unknown, { file, memoryMegabytes, rowBytesMax }: QueryRequest): Fault {
  const spent = descriptorsFault(error);
  if (spent !== null) return spent;
  if (error instanceof Fault) return error;
  // Values above SQLite's maximum of one gigabyte.
  if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_TOOBIG') return rowTooLarge(rowBytesMax);
  if (isOutOfMemory(error)) return tooMuchMemory(memoryMegabytes);
  if (error instanceof Sqlite.SqliteError) {
    if (error.code === 'SQLITE_FULL') return failedOnRows(error.message, noTemporarySpace);
    const fault = sqliteFault(error, file);
    if (fault instanceof Fault) return fault;
    return failedOnRows(error.message, error.message === 'integer overflow' ? beyondBits : undefined);
  }
  if (lacksParameters(error)) return hasParameters();
  const incomplete = incompleteInstallation(error);
  if (incomplete !== null) return new Fault('internal', incomplete.message, { hint: incomplete.hint });
  return new Fault('internal', String(error));
}

/** What is full is the folder of temporary files, not the mirror. */
const noTemporarySpace = 'Sort or group fewer rows, or free space in the folder for temporary files.';

const beyondBits =
  'An integer has at most 64 bits. Instead of sum(), total() adds up floating-point numbers, which are approximate.';

/** Either SQLite ran out of memory, or a text is too long for the JavaScript engine. */
function isOutOfMemory(error: unknown): boolean {
  if (error instanceof Sqlite.SqliteError) return error.code === 'SQLITE_NOMEM';
  return (
    error instanceof Error && /longer than 0x|Invalid string length|allocation failed/i.test(error.message)
  );
}
