import { setImmediate } from 'node:timers';

/** What a body may ask of its connection. */
export interface Flow {
  /** Closes it: the rest is not wanted. */
  cut(reason: Error): void;
  pause(): void;
  resume(): void;
}

/**
 * So many pieces may wait before the connection pauses. A body in pieces of 64 KB never has as many; of one that was
 * sent a byte at a time, two megabytes of the wire would be taken apart in one turn of the event loop.
 */
const waitingMax = 512;

/**
 * A body as it comes off a socket, for one reader. What arrives before it is asked for waits in memory: that can be
 * no more than the connection lets in for one answer.
 */
export class ArrivingBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  #error: Error | undefined;
  #ended = false;
  #paused = false;
  #wake: (() => void) | undefined;

  constructor(readonly flow: Flow) {}

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    if (this.#chunks.length >= waitingMax && !this.#paused) {
      this.#paused = true;
      this.flow.pause();
    }
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  fail(error: Error): void {
    this.#error = error;
    this.end();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    // Each turn brings a piece or the end.
    for (;;) {
      const value = this.#chunks.shift();
      if (value !== undefined) return { done: false, value };
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return { done: true, value: undefined };
      if (this.#paused) {
        this.#paused = false;
        // In a turn of its own, behind whatever else is due.
        setImmediate(() => this.flow.resume());
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Whoever turns away before the end also lets go of the connection. */
  async return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#ended) this.flow.cut(new Error('the rest of an answer was not wanted'));
    this.#ended = true;
    this.#chunks.length = 0;
    return { done: true, value: undefined };
  }
}
