import { nextTick } from 'node:process';
import { setImmediate } from 'node:timers/promises';
import type { Position } from '../domain/position.js';
import { Interrupter, type Interruption } from '../runtime/interruption.js';
import type { Feed, FeedPage } from './ports.js';

interface Ahead {
  readonly position: Position;
  readonly page: Promise<FeedPage>;
  readonly abandon: () => void;
}

/**
 * Reads pages, at most one ahead of the one being written. What was read ahead is used only when it is what is
 * asked for next; otherwise, and when the commit in between fails, it is dropped and its request cut off.
 */
export class PageReader {
  #ahead: Ahead | undefined;

  constructor(readonly signal: Interruption) {}

  /**
   * Resolves once the request is on its way. On SQLite writing a page holds this thread: a request that goes out
   * behind it is late by as much, some two milliseconds of a page's sixty over a wide network.
   */
  async readAhead(feed: Feed, position: Position): Promise<void> {
    if (this.#ahead !== undefined && samePosition(this.#ahead.position, position)) {
      // Written in the turn in which it was parsed, a page holds on to memory: 241 MB of 200,000 records, not 186.
      await setImmediate();
      return;
    }
    this.drop();
    const cut = new Interrupter();
    const abandon = () => cut.abort();
    this.signal.addEventListener('abort', abandon, { once: true });
    // Only a page that is waited for may send for the one behind it: there is never more than one ahead.
    const onNext = async (next: Position) => {
      if (!cut.aborted && this.#ahead !== ahead) await this.readAhead(feed, next);
    };
    const page = feed.page(position, cut, onNext).finally(() => {
      this.signal.removeEventListener('abort', abandon);
    });
    const ahead = { position, page, abandon };
    this.#ahead = ahead;
    // Whoever takes the page sees its fault, or meets the defect; nobody has to take it.
    page
      .then((arrived) => {
        // A server is still writing the page before it: this thread has nothing else to do.
        if (this.#ahead === ahead) arrived.items.at(0);
      })
      .catch(() => {});
    // Behind every promise at hand, and then behind undici, which looks at a connection that was idle before it writes.
    await new Promise<void>((resolve) => nextTick(resolve));
    await setImmediate();
  }

  async read(feed: Feed, position: Position): Promise<FeedPage> {
    const ahead = this.#ahead;
    if (ahead !== undefined && samePosition(ahead.position, position)) {
      this.#ahead = undefined;
      return await ahead.page;
    }
    this.drop();
    return await feed.page(position, this.signal, (next) => this.readAhead(feed, next));
  }

  drop(): void {
    this.#ahead?.abandon();
    this.#ahead = undefined;
  }
}

function samePosition(a: Position, b: Position): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
