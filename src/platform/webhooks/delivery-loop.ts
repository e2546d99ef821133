import { setMaxListeners } from 'node:events';
import type { Closable } from '../../runtime/lifecycle.js';
import type { Services } from '../services.js';
import { attempt, type Wire } from './attempt.js';
import { type Delivery, dueDeliveries, endpointsWithWork, nextDueAfter } from './deliveries.js';

/** Two let a slow answer not hold up the next event; more would turn a burst into a load test of the receiver. */
const perEndpointMax = 2;
/** Sockets open at once. With two per endpoint it takes this many dead endpoints, halved, to be felt at all. */
const inFlightMax = 512;

/**
 * Sends what is due. The rows are the queue; here stands only whose turn it is.
 *
 *   ready   endpoints that may have something due, in the order of their turns. Each turn starts one attempt and
 *           goes to the end of the line, so an endpoint's backlog never delays another endpoint.
 *   busy    attempts on the way, per endpoint. The end of one makes its endpoint ready again.
 *   timer   one wait for the earliest due time ahead; none when nothing is pending, so idleness costs nothing.
 *
 * Woken by new deliveries, by the timer and by whoever moves the clock.
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
    // One listener per attempt on the way, `inFlightMax` at most.
    setMaxListeners(inFlightMax, this.#stop.signal);
  }

  /** New work for these endpoints. May be called inside the transaction that makes it: the look comes after it. */
  wakeFor(endpoints: Iterable<number>): void {
    for (const endpointNo of endpoints) this.#ready.add(endpointNo);
    this.#schedule();
  }

  /** Looks at everything: after a start, when the timer fires, when the clock was moved. */
  wake(): void {
    if (this.#stop.signal.aborted) return;
    // After a move of the clock the wait that is under way is of the wrong length.
    this.#timer?.cancel.abort();
    this.#timer = null;
    this.wakeFor(endpointsWithWork(this.#services.state, this.#services.clock.now()));
  }

  /** Attempts on the way are cut off and not booked; they go out again after the next start. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel.abort();
    this.#timer = null;
    await Promise.all(this.#running);
  }

  /** A microtask runs after the synchronous transaction that announced the work has committed. */
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
    // A set visits what is added while it is walked: every turn either starts an attempt or leaves the line.
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
        // Not ready again at once: what is broken here would be broken in the next turn too.
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
