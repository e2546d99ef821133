import { nextTick } from 'node:process';
import { setImmediate } from 'node:timers/promises';
import type { Position } from '../domain/position.js';
import { Interrupter, type Interruption } from '../runtime/interruption.js';
import type { Feed, ReceivedPage } from './ports.js';

interface Ahead {
  readonly position: Position;
  readonly page: Promise<ReceivedPage>;
  readonly abandon: () => void;
}

/**
 * Reads pages, at most one ahead of the page being written. The page read ahead is used only when its position is
 * requested next. Otherwise, or when the commit in between fails, it is dropped and its request aborted.
 */
export class PageReader {
  #ahead: Ahead | undefined;

  constructor(readonly signal: Interruption) {}

  /**
   * Resolves once the request is sent. With SQLite, writing a page blocks the event loop, so a request queued behind
   * it would start that much later.
   */
  async readAhead(feed: Feed, position: Position): Promise<void> {
    if (this.#ahead !== undefined && samePosition(this.#ahead.position, position)) {
      // Yields before the page is written: a page that is parsed and written in the same turn stays in memory longer.
      // See docs/evidence/speed.md.
      await setImmediate();
      return;
    }
    this.drop();
    const cut = new Interrupter();
    const abandon = () => cut.abort();
    this.signal.addEventListener('abort', abandon, { once: true });
    // Only an awaited page may prefetch its successor, so at most one page is ahead.
    const onNext = async (next: Position) => {
      if (!cut.aborted && this.#ahead !== ahead) await this.readAhead(feed, next);
    };
    const page = feed.page(position, cut, onNext).finally(() => {
      this.signal.removeEventListener('abort', abandon);
    });
    const ahead = { position, page, abandon };
    this.#ahead = ahead;
    // The error surfaces when the page is read. A page may never be read, so it is also caught here.
    page
      .then((arrived) => {
        // With PostgreSQL the previous page is still being written on the server and this thread is idle, so parse
        // now.
        if (this.#ahead === ahead) arrived.parse();
      })
      .catch(() => {});
    // Runs after all pending promises, and after undici, which checks an idle connection before it writes to it.
    await new Promise<void>((resolve) => nextTick(resolve));
    await setImmediate();
  }

  async read(feed: Feed, position: Position): Promise<ReceivedPage> {
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
