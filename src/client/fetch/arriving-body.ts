import { setImmediate } from 'node:timers';

/** Flow control of the connection that carries a body. */
export interface Flow {
  /** Closes the connection; the rest of the body is not read. */
  cut(reason: Error): void;
  pause(): void;
  resume(): void;
}

/**
 * The connection pauses when this many chunks are queued. A body in 64 KB chunks never reaches the limit. A body sent
 * one byte at a time would otherwise block the event loop with megabytes of tiny chunks in one turn.
 */
const waitingMax = 512;

/**
 * A response body read from a socket, for one reader. Chunks that arrive early wait in memory, which the connection's
 * limit per response bounds.
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
    // Each turn yields a chunk or the end.
    for (;;) {
      const value = this.#chunks.shift();
      if (value !== undefined) return { done: false, value };
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return { done: true, value: undefined };
      if (this.#paused) {
        this.#paused = false;
        // In a turn of its own, after everything else that is due.
        setImmediate(() => this.flow.resume());
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Closes the connection when the reader stops before the end. */
  async return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#ended) this.flow.cut(new Error('the reader closed the response before its end'));
    this.#ended = true;
    this.#chunks.length = 0;
    return { done: true, value: undefined };
  }
}
