import { Fault } from '../../domain/fault.js';
import type { Clock } from '../../runtime/clock.js';
import { Interrupter } from '../../runtime/interruption.js';
import { callName, type Fetch } from './fetch.js';

/**
 * One deadline for a request as a whole, connecting and body included. Limits on silence alone (headers, gaps
 * between bytes) let a server that drips a byte a second hold a tick for hours.
 */
export function withTimeout(fetch: Fetch, clock: Clock, totalMillis: number): Fetch {
  return async (call) => {
    if (call.signal.aborted) throw new Fault('stopped', `${callName(call)} was stopped`);
    const request = new AbortController();
    const answered = new Interrupter();
    // Not AbortSignal.any: on Node 20 it keeps something for every call on a signal that lives as long as the daemon.
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
