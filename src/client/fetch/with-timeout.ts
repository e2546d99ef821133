import { Fault } from '../../domain/fault.js';
import type { Clock } from '../../runtime/clock.js';
import { Interrupter } from '../../runtime/interruption.js';
import { callName, type Fetch } from './fetch.js';

/**
 * One timeout for the whole request, including connecting and the body. Timeouts between headers or bytes alone would
 * let a server that sends one byte a second hold a tick for hours.
 */
export function withTimeout(fetch: Fetch, clock: Clock, totalMillis: number): Fetch {
  return async (call) => {
    if (call.signal.aborted) throw new Fault('stopped', `${callName(call)} was stopped`);
    const request = new AbortController();
    const answered = new Interrupter();
    // Not AbortSignal.any: in several versions of Node it leaks memory for each call on a long-lived signal.
    const stop = () => request.abort(new Fault('stopped', `${callName(call)} was stopped`));
    call.signal.addEventListener('abort', stop, { once: true });
    void clock.wait(totalMillis, answered).then(() => {
      if (answered.aborted) return;
      request.abort(
        new Fault('unreachable', `${callName(call)} had no complete answer after ${totalMillis} ms`),
      );
    });
    try {
      return await fetch({ ...call, signal: request.signal });
    } finally {
      call.signal.removeEventListener('abort', stop);
      answered.abort();
    }
  };
}
