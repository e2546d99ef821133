import { setMaxListeners } from 'node:events';
import type { Closable } from '../../runtime/lifecycle.js';
import type { Services } from '../services.js';
import { attempt, type Wire } from './attempt.js';
import { type Delivery, dueDeliveries, endpointsWithWork, nextDueAfter } from './deliveries.js';

/** With two, a slow response does not block the next event. More would flood the receiver during a burst. */
const perEndpointMax = 2;
/** Maximum number of open sockets. With two per endpoint, half as many dead endpoints would exhaust it. */
const inFlightMax = 512;
/** When a delivery is tried again whose attempt could not be recorded, for example because the disk was full. */
const crashedMillis = 5_000;

/**
 * Sends due deliveries. The queue is in the database; this class schedules the endpoints.
 *
 *   ready   endpoints that may have due deliveries, in round-robin order. Each turn starts one attempt and moves the
 *           endpoint to the end, so the backlog of one endpoint never delays another.
 *   busy    attempts in flight, per endpoint. When one ends, its endpoint becomes ready again.
 *   timer   a single wait for the next due time; none when nothing is pending, so an idle loop costs nothing.
 *
 * The loop is woken by new deliveries, by the timer and by a move of the clock.
 */
export class DeliveryLoop implements Closable {
  readonly #services: Services;
  readonly #wire: Wire;
  readonly #ready = new Set<number>();
  readonly #busy = new Map<number, Set<number>>();
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #timer: { readonly at: number; readonly cancel: AbortController } | null = null;
  #scheduled = false;

  constructor(services: Services, wire: Wire) {
    this.#services = services;
    this.#wire = wire;
    // One listener per attempt in flight, at most `inFlightMax`.
    setMaxListeners(inFlightMax, this.#stop.signal);
  }

  /** Schedules endpoints with new deliveries. May be called inside a transaction: the queue is read after the commit. */
  wakeFor(endpoints: Iterable<number>): void {
    for (const endpointNo of endpoints) this.#ready.add(endpointNo);
    this.#schedule();
  }

  /** Checks all endpoints. Called after a start, when the timer fires and when the clock was moved. */
  wake(): void {
    if (this.#stop.signal.aborted) return;
    // After a move of the clock the current wait has the wrong length.
    this.#timer?.cancel.abort();
    this.#timer = null;
    this.wakeFor(endpointsWithWork(this.#services.state, this.#services.clock.now()));
  }

  /** Aborts attempts in flight without recording them. They are sent again after the next start. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel.abort();
    this.#timer = null;
    await Promise.all(this.#running);
  }

  /** A microtask runs only after the synchronous transaction that emitted the event has committed. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#stop.signal.aborted) return;
    const now = this.#services.clock.now();
    // Iterating a set includes items added during the loop. Every turn starts an attempt or drops the endpoint.
    for (const endpointNo of this.#ready) {
      if (this.#running.size >= inFlightMax) break;
      this.#ready.delete(endpointNo);
      const delivery = this.#next(endpointNo, now);
      if (delivery === undefined) continue;
      this.#start(delivery);
      this.#ready.add(endpointNo);
    }
    this.#arm(now);
  }

  #next(endpointNo: number, now: number): Delivery | undefined {
    const busy = this.#busy.get(endpointNo);
    if (busy !== undefined && busy.size >= perEndpointMax) return undefined;
    const due = dueDeliveries(this.#services.state, endpointNo, now, perEndpointMax);
    return due.find((delivery) => busy?.has(delivery.no) !== true);
  }

  #start(delivery: Delivery): void {
    const busy = this.#busy.get(delivery.endpoint_no) ?? new Set<number>();
    this.#busy.set(delivery.endpoint_no, busy.add(delivery.no));
    const running = attempt(this.#services, this.#wire, delivery, this.#stop.signal)
      .then(() => this.#ready.add(delivery.endpoint_no))
      .catch((error: unknown) => {
        // Not retried immediately: the same error would occur in the next turn. It is still due, so no timer waits for it.
        void this.#services.clock.wait(crashedMillis, this.#stop.signal).then(() => this.wake());
        const fields = { component: 'platform', eventId: delivery.event_id, error };
        this.#services.logger.error(fields, 'webhook attempt crashed');
      })
      .then(() => {
        this.#running.delete(running);
        busy.delete(delivery.no);
        if (busy.size === 0) this.#busy.delete(delivery.endpoint_no);
        this.#schedule();
      });
    this.#running.add(running);
  }

  #arm(now: number): void {
    // It fires in this turn of the event loop or the next, and nothing else looks for what is due since then.
    if (this.#timer !== null && this.#timer.at <= now) return;
    const at = nextDueAfter(this.#services.state, now);
    if (at === (this.#timer?.at ?? null)) return;
    this.#timer?.cancel.abort();
    this.#timer = null;
    if (at === null) return;
    const cancel = new AbortController();
    this.#timer = { at, cancel };
    void this.#services.clock.wait(at - now, cancel.signal).then(() => {
      if (cancel.signal.aborted) return;
      this.#timer = null;
      this.wake();
    });
  }
}
