/**
 * A body as it comes off a socket, for one reader. What arrives before it is asked for waits in memory: that can be
 * no more than the connection lets in for one answer.
 */
export class ArrivingBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  #error: Error | undefined;
  #ended = false;
  #wake: (() => void) | undefined;

  /** `cut` lets go of the connection: the rest is not wanted. */
  constructor(readonly cut: (reason: Error) => void) {}

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
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
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Whoever turns away before the end also lets go of the connection. */
  async return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#ended) this.cut(new Error('the rest of an answer was not wanted'));
    this.#ended = true;
    this.#chunks.length = 0;
    return { done: true, value: undefined };
  }
}
