import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import { DueQueue } from './due-queue.js';

/** What a tick is, as far as its turn depends on it. */
export interface SlotWish {
  /** When the tick became due, on the monotonic clock. */
  readonly dueAt: number;
  /** Started by a webhook or by a user: runs before timed ticks. */
  readonly urgent: boolean;
  /** Known to list: it may read thousands of pages. */
  readonly lists: boolean;
  /** Sends no request to the platform: a look at a halted source. */
  readonly looks: boolean;
  /** A user waits for it: it waits for nothing but a slot. */
  readonly isManual?: boolean;
}

export interface SlotParts {
  readonly clock: Clock;
  readonly slots: number;
  /** Milliseconds until the next timed tick may run. */
  readonly timedWait: () => number;
  /** Milliseconds until listings may read on. */
  readonly listingWait: () => number;
}

/** A tick that waits or runs. */
export interface Ticket {
  /** The tick became urgent while it waits. */
  raise(isManual?: boolean): void;
  /** Begins the tick without a slot: it has nothing to do. */
  withdraw(): void;
}

/** The part of a running tick that its slot sees. */
export interface RunningTick {
  /**
   * The tick is about to read a page of a listing or of the feed, after so many pages. May call `cut`.
   */
  page(lists: boolean, pages: number): void;
  /** A user waits for this tick: it is never cut. */
  keep(): void;
}

interface Waiting extends SlotWish {
  /** Begins it with the wish as it is by then. */
  readonly begin: (now: SlotWish) => void;
  queue: DueQueue<Waiting> | null;
}

interface Running {
  readonly urgent: boolean;
  readonly since: number;
  lists: boolean;
  isKept: boolean;
  isCut: boolean;
}

/** A listing yields its slot after this time when another tick waits for it. */
export const listingTurnMillis = 30_000;
/** How often a wait is reconsidered: requests may have been counted elsewhere meanwhile. */
const reconsiderMillis = 60_000;

/**
 * Limits how many ticks run at once, and decides which one is next: urgent ones first, then the one that is due longest.
 *
 * A long tick never keeps a webhook waiting. Listings leave one slot to other ticks (unless there is only one).
 * While an urgent tick waits and every slot is taken, the first other tick that comes to the end of a page is cut: what it
 * read is stored, and it continues after its turn. A listing takes turns of half a minute with others that wait for its
 * slot.
 */
export class TickSlots {
  readonly #running = new Set<Running>();
  readonly #queues = {
    urgent: new DueQueue<Waiting>(),
    looks: new DueQueue<Waiting>(),
    timed: new DueQueue<Waiting>(),
    /** Listings that a webhook wants to go on. */
    urgentLists: new DueQueue<Waiting>(),
    lists: new DueQueue<Waiting>(),
  };
  #listing = 0;
  /** Urgent ticks for which a running one was cut already. */
  #cut = 0;
  #sleep: Interrupter | null = null;

  constructor(private readonly parts: SlotParts) {}

  /** How many listings may run at once. */
  get #listingsMax(): number {
    return Math.max(1, this.parts.slots - 1);
  }

  /** Runs `work` when it is its turn. `cut` ends a running tick after its page. */
  add<R>(wish: SlotWish, work: (running: RunningTick) => Promise<R>, cut: () => void): [Promise<R>, Ticket] {
    let begin: (now: SlotWish) => void = () => {};
    const result = new Promise<R>((resolve, reject) => {
      begin = (now) => void this.#run(now, work, cut).then(resolve, reject);
    });
    let waiting = this.#enqueue({ ...wish, begin, queue: null });
    this.#fill();
    const raise = (isManual = false) => {
      if (waiting.queue === null || (waiting.urgent && (waiting.isManual === true || !isManual))) return;
      waiting.queue.remove(waiting);
      waiting = this.#enqueue({ ...waiting, isManual, urgent: true, dueAt: this.parts.clock.monotonic() });
      this.#fill();
    };
    const withdraw = () => {
      if (waiting.queue === null) return;
      waiting.queue.remove(waiting);
      waiting.queue = null;
      waiting.begin(waiting);
    };
    return [result, { raise, withdraw }];
  }

  #enqueue(waiting: Waiting): Waiting {
    waiting.queue = this.#queueOf(waiting);
    waiting.queue.add(waiting);
    return waiting;
  }

  #queueOf({ urgent, lists, looks, isManual }: SlotWish): DueQueue<Waiting> {
    // A user waits for it, and a look at a halted source reads nothing.
    if (isManual === true) return this.#queues.urgent;
    if (looks && !urgent) return this.#queues.looks;
    if (lists) return urgent ? this.#queues.urgentLists : this.#queues.lists;
    return urgent ? this.#queues.urgent : this.#queues.timed;
  }

  /** Begins what may run now. */
  #fill(): void {
    this.#sleep?.abort();
    this.#sleep = null;
    while (this.#running.size < this.parts.slots) {
      const next = this.#next();
      if (next === undefined) break;
      next.queue = null;
      next.begin(next);
    }
    if (this.#running.size < this.parts.slots) this.#wakeLater();
  }

  #next(): Waiting | undefined {
    const { urgent, looks, timed, urgentLists, lists } = this.#queues;
    if (urgent.size > 0) return urgent.take();
    const mayList = urgentLists.size + lists.size > 0 && this.#mayList();
    if (mayList && urgentLists.size > 0) return urgentLists.take();
    if (looks.size > 0) return looks.take();
    const listing = mayList ? lists.peek() : undefined;
    const feed = timed.size > 0 && this.parts.timedWait() <= 0 ? timed.peek() : undefined;
    if (listing !== undefined && (feed === undefined || listing.dueAt < feed.dueAt)) return lists.take();
    return feed === undefined ? undefined : timed.take();
  }

  #mayList(): boolean {
    return this.#listing < this.#listingsMax && this.parts.listingWait() <= 0;
  }

  /** Considers what waits for requests, not for a slot, again when they are there. */
  #wakeLater(): void {
    const { timed, urgentLists, lists } = this.#queues;
    const waits: number[] = [];
    if (timed.size > 0) waits.push(this.parts.timedWait());
    if (urgentLists.size + lists.size > 0 && this.#listing < this.#listingsMax)
      waits.push(this.parts.listingWait());
    if (waits.length === 0) return;
    const sleep = new Interrupter();
    this.#sleep = sleep;
    const millis = Math.max(1, Math.min(reconsiderMillis, ...waits));
    void this.parts.clock.wait(millis, sleep).then(() => {
      if (!sleep.aborted) this.#fill();
    });
  }

  async #run<R>(
    { urgent, lists }: SlotWish,
    work: (running: RunningTick) => Promise<R>,
    cut: () => void,
  ): Promise<R> {
    const running: Running = {
      urgent,
      since: this.parts.clock.monotonic(),
      lists,
      isKept: false,
      isCut: false,
    };
    this.#running.add(running);
    if (lists) this.#listing += 1;
    try {
      return await work({
        page: (isListing, pages) => {
          if (isListing && !running.lists) {
            running.lists = true;
            this.#listing += 1;
          }
          if (pages > 0 && !running.isCut && !running.isKept && this.#mustYield(running)) {
            running.isCut = true;
            this.#cut += 1;
            cut();
          }
        },
        keep: () => {
          running.isKept = true;
        },
      });
    } finally {
      this.#running.delete(running);
      if (running.lists) this.#listing -= 1;
      if (running.isCut) this.#cut -= 1;
      this.#fill();
    }
  }

  #mustYield({ urgent, lists, since }: Running): boolean {
    const { urgent: first, timed, urgentLists, lists: others } = this.#queues;
    const { slots, clock, timedWait, listingWait } = this.parts;
    const isFull = this.#running.size >= slots;
    if (isFull && first.size > this.#cut && (lists || !urgent)) return true;
    if (!lists) return false;
    if (listingWait() > 0) return true;
    const isFeedWaiting = isFull && timed.size > 0 && timedWait() <= 0;
    if (isFeedWaiting && this.#listing > this.#listingsMax) return true;
    const isTurnOver = clock.monotonic() - since >= listingTurnMillis;
    return (
      isTurnOver && (isFeedWaiting || (isFull && urgentLists.size + others.size > 0) || this.#isCapped())
    );
  }

  /** Whether other listings wait because as many run as may. */
  #isCapped(): boolean {
    const { urgentLists, lists } = this.#queues;
    return this.#listing >= this.#listingsMax && urgentLists.size + lists.size > 0;
  }
}
