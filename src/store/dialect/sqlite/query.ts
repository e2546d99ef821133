import type { ChildProcess } from 'node:child_process';
import { defined } from '../../../domain/defined.js';
import { Fault } from '../../../domain/fault.js';
import type { Clock } from '../../../runtime/clock.js';
import { lostProcess, startOwnProcess } from '../../../runtime/own-process.js';
import { endedEarly, tooMuchMemory, tooSlow } from '../../query-refusals.js';
import { rowBytesMaxDefault } from '../../reads/result-size.js';
import type { QueryHandle, QueryLimits, SqlValue } from '../port.js';
import type { QueryDemand, QueryReply, QueryRequest } from './query-messages.js';

/**
 * Runs one read-only statement of a user in a child process.
 *
 * SQLite blocks the thread while a statement runs, and better-sqlite3 cannot interrupt it. Neither a timer nor terminating
 * a worker thread takes effect before the statement returns a row, which an aggregate over a careless join may never do. A
 * process can be killed, and a reader's locks end with it. The price is the start of a process for each query.
 *
 * The child process also limits the size of a row, the size of the result and its own memory.
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
  let timer = new AbortController();
  let begunAt = 0;
  // The start of the process, slow on a busy machine, does not count towards the query's timeout.
  const startTimeout = (millis: number) => {
    timer.abort();
    timer = new AbortController();
    begunAt = clock.monotonic();
    const over = AbortSignal.any([timer.signal, ended.signal]);
    void clock.wait(millis, over).then(() => {
      if (!over.aborted) stop(tooSlow(limits.timeoutMs));
    });
  };
  startTimeout(limits.timeoutMs + startMillisMax);
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
    if (reply === undefined) throw lostProcess('the process that ran the query', child);
    throw faultOf(reply);
  };

  const countsReader = limits.countsReader ?? true;
  let left = limits.timeoutMs;
  const pause = () => {
    left -= clock.monotonic() - begunAt;
    timer.abort();
  };
  let truncated = false;
  async function* rows(): AsyncGenerator<readonly SqlValue[]> {
    try {
      let reply = await next();
      for (; reply.kind === 'rows'; reply = await next()) {
        if (!countsReader) pause();
        yield* reply.rows;
        if (!countsReader) startTimeout(left);
        sendDemand(child, { kind: 'more' });
      }
      truncated = reply.kind === 'end' && reply.truncated;
    } finally {
      close();
    }
  }

  const request: QueryRequest = {
    file,
    sql,
    memoryMegabytes,
    rowsMax: limits.rowsMax,
    identity: limits.identity ?? true,
    audit: limits.audit ?? true,
    rowBytesMax: limits.rowBytesMax ?? rowBytesMaxDefault,
    bytesMax: limits.bytesMax ?? null,
    asOf: limits.asOf ?? null,
  };
  sendDemand(child, { kind: 'start', request });
  const first = await next();
  startTimeout(limits.timeoutMs);
  if (first.kind !== 'columns') throw new Error(`a query began with ${first.kind}`);
  const { columns, younger } = first;
  return { columns, younger, rows: rows(), truncated: () => truncated, close };
}

/** Enough to sort a million rows, and bounded, so that one statement cannot use up the machine's memory. */
const memoryMegabytesDefault = 2_048;

/** Signals of the child's own memory limit, of a full heap of the engine, and of the system's OOM killer. */
const memorySignals: ReadonlySet<string> = new Set(['SIGUSR2', 'SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL']);

/** The time allowed for starting the process and compiling the statement. */
const startMillisMax = 10_000;

/** Yields the child's replies. Ends when the child has exited and its last reply was yielded. */
async function* repliesOf(child: ChildProcess): AsyncGenerator<QueryReply, undefined> {
  const queue: QueryReply[] = [];
  let ended = false;
  let wake: () => void = () => {};
  child.on('message', (reply) => {
    queue.push(reply as QueryReply);
    wake();
  });
  const onEnd = () => {
    ended = true;
    wake();
  };
  child.once('close', onEnd);
  child.once('error', onEnd);
  for (;;) {
    const reply = queue.shift();
    if (reply !== undefined) yield reply;
    else if (ended) return undefined;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
}

function sendDemand(child: ChildProcess, demand: QueryDemand): void {
  // A killed child cannot receive; the reader sees its exit instead.
  if (child.connected) child.send(demand, () => {});
}

function faultOf(reply: Extract<QueryReply, { kind: 'failed' }>): Fault {
  const { code, message, hint, place } = reply;
  return new Fault(code, message, defined({ hint: hint ?? undefined, place: place ?? undefined }));
}
