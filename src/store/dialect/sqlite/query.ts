import type { ChildProcess } from 'node:child_process';
import { Fault } from '../../../domain/fault.js';
import type { Clock } from '../../../runtime/clock.js';
import { endedWithoutAnswer } from '../../../runtime/file-descriptors.js';
import { startOwnProcess } from '../../../runtime/own-process.js';
import { endedEarly, tooMuchMemory, tooSlow } from '../../query-refusals.js';
import { type QueryHandle, type QueryLimits, rowBytesMaxDefault, type SqlValue } from '../../reads/query.js';
import type { QueryDemand, QueryReply, QueryRequest } from './query-messages.js';

/**
 * Runs one reading statement of somebody's own in a process of its own.
 *
 * SQLite works on one statement without giving control back, and better-sqlite3 has no way to interrupt it:
 * neither a timer in this thread nor terminating a worker thread would be heard before the statement yields,
 * which for an aggregate over a careless join is never. A process can be killed, and SQLite's readers hold
 * only locks that vanish with it. It costs some tens of milliseconds per query.
 *
 * What a statement builds stays in that process: the row, the result and the memory of the process are bounded there.
 */
export async function querySqlite(
  file: string,
  sql: string,
  limits: QueryLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<QueryHandle> {
  const memoryMegabytes = limits.memoryMegabytes ?? memoryMegabytesDefault;
  const child = startOwnProcess(import.meta.url, 'query-child', {
    heapMegabytes: Math.floor(memoryMegabytes / 2),
  });
  const replies = repliesOf(child);
  const ended = new AbortController();
  let cause: Fault | undefined;
  const stop = (reason: Fault) => {
    cause ??= reason;
    child.kill('SIGKILL');
  };
  const onAbort = () => stop(endedEarly());
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  let began = new AbortController();
  // A busy machine takes its time to start a process; that is not the query being slow.
  const allow = (millis: number) => {
    began.abort();
    began = new AbortController();
    const over = AbortSignal.any([began.signal, ended.signal]);
    void clock.wait(millis, over).then(() => {
      if (!over.aborted) stop(tooSlow(limits.timeoutMs));
    });
  };
  allow(limits.timeoutMs + startMillisMax);
  const close = () => {
    ended.abort();
    signal.removeEventListener('abort', onAbort);
    child.kill('SIGKILL');
  };

  const next = async () => {
    const { value: reply } = await replies.next();
    if (reply !== undefined && reply.kind !== 'failed') return reply;
    if (ended.signal.aborted) cause ??= endedEarly();
    close();
    if (cause !== undefined) throw cause;
    if (reply === undefined && memorySignals.has(child.signalCode ?? ''))
      throw tooMuchMemory(memoryMegabytes);
    if (reply === undefined) throw endedWithoutAnswer('the process that ran the query');
    throw faultOf(reply);
  };

  let truncated = false;
  async function* rows(): AsyncGenerator<readonly SqlValue[]> {
    try {
      let reply = await next();
      for (; reply.kind === 'rows'; reply = await next()) {
        yield* reply.rows;
        tell(child, { kind: 'more' });
      }
      truncated = reply.kind === 'end' && reply.truncated;
    } finally {
      close();
    }
  }

  const request: QueryRequest = {
    ...{ file, sql, memoryMegabytes, rowsMax: limits.rowsMax, identity: limits.identity ?? true },
    rowBytesMax: limits.rowBytesMax ?? rowBytesMaxDefault,
    bytesMax: limits.bytesMax ?? null,
  };
  tell(child, { kind: 'start', request });
  const first = await next();
  allow(limits.timeoutMs);
  if (first.kind !== 'columns') throw new Error(`a query began with ${first.kind}`);
  return { columns: first.columns, rows: rows(), truncated: () => truncated, close };
}

/** A million rows are sorted in less; a statement that wants all memory there is leaves the rest of the machine some. */
const memoryMegabytesDefault = 2_048;

/** Sent by its own watch over its memory, by the engine whose heap is full, or by the system that has none left. */
const memorySignals: ReadonlySet<string> = new Set(['SIGUSR2', 'SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL']);

/** From nothing to a compiled statement. */
const startMillisMax = 10_000;

/** Ends when the child does. */
async function* repliesOf(child: ChildProcess): AsyncGenerator<QueryReply, undefined> {
  const queue: QueryReply[] = [];
  let gone = false;
  let wake: () => void = () => {};
  child.on('message', (reply) => {
    queue.push(reply as QueryReply);
    wake();
  });
  const leave = () => {
    gone = true;
    wake();
  };
  child.once('exit', leave);
  child.once('error', leave);
  for (;;) {
    const reply = queue.shift();
    if (reply !== undefined) yield reply;
    else if (gone) return undefined;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
}

function tell(child: ChildProcess, demand: QueryDemand): void {
  // A child that was killed meanwhile cannot be told; its end is what the reader then sees.
  if (child.connected) child.send(demand, () => {});
}

function faultOf(reply: Extract<QueryReply, { kind: 'failed' }>): Fault {
  return new Fault(reply.code, reply.message, reply.hint === null ? {} : { hint: reply.hint });
}
